"""What a training will take of memory is said before it is taken; tests/test_scale.py holds a process to the figure."""

from pathlib import Path
from typing import Any

import pytest
import torch

from charlm import memory
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel

PLACES = 32 * 32
MB = 10**6
NEEDED = 1_294_800_000  # bytes: 190 MB, 36 bytes for each of 5000 x 5000 parameters, 40 for each of 1024 x 5000 logits
WHAT = "to train the model's 25,000,000 parameters takes at least 1,295 MB"


def said(build: Any, processes: int = 1) -> list[str]:
    lines: list[str] = []
    memory.check(build, PLACES, processes, lines.append)
    return lines


def table(vocab_size: int) -> Any:
    return lambda: BigramLanguageModel(vocab_size=vocab_size, block_size=32)


@pytest.mark.parametrize(("vocab_size", "megabytes"), [(65, None), (1192, None), (1193, "290"), (5000, "1,295")])
def test_a_model_that_takes_more_than_100_mb_beyond_the_base_is_spoken_of(
    vocab_size: int, megabytes: str | None
) -> None:
    expected = f"to train the model's {vocab_size**2:,} parameters takes at least {megabytes} MB"
    assert said(table(vocab_size)) == ([expected] if megabytes else [])


def test_all_that_a_model_keeps_counts() -> None:
    """The mask of the head is no parameter, and the largest part of it in a long block."""
    T = 8192
    parameters = (65 + T) * 32 + 3 * 32 * 32 + (32 + 1) * 65
    size = 190e6 + 36 * parameters + 4 * T * T + 40 * PLACES * 65
    assert said(lambda: AttentionLanguageModel(vocab_size=65, block_size=T, n_embd=32, head_size=32)) == [
        f"to train the model's {parameters:,} parameters takes at least {size / MB:,.0f} MB"
    ]


def test_what_several_processes_take_is_spoken_of_with_how_to_have_fewer() -> None:
    assert said(table(5000), 2) == [f"{WHAT} in each of 2 processes side by side (CHARLM_JOBS says how many)"]


@pytest.mark.parametrize(
    ("processes", "what", "remedy"),
    [(1, "", ""), (3, " in each of 3 processes side by side", "set CHARLM_JOBS=1, ")],
)
def test_what_takes_more_than_the_machine_has_is_refused_with_both_figures(
    processes: int, what: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = processes * NEEDED
    monkeypatch.setattr(memory, "available", lambda: has)
    assert len(said(table(5000), processes)) == 1
    monkeypatch.setattr(memory, "available", lambda: has - 1)
    with pytest.raises(CharlmError) as caught:
        said(table(5000), processes)
    assert str(caught.value) == (
        f"{WHAT}{what}, and this machine has {has / MB:,.0f} MB; {remedy}take a text with fewer distinct characters, "
        "or a smaller model"
    )


def test_to_ask_takes_no_memory_and_no_random_number() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    with pytest.raises(CharlmError, match=r"takes at least [\d,]+ MB, and this machine has"):
        said(table(1_112_064))  # all of Unicode: 45 TB
    said(lambda: AttentionLanguageModel(vocab_size=65, block_size=32, n_embd=32, head_size=32))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_machines_memory_is_what_it_has() -> None:
    if not Path("/proc/meminfo").exists():
        pytest.skip("only Linux tells it there")
    kilobytes = int(Path("/proc/meminfo").read_text(encoding="utf-8").split()[1])
    assert memory.available() == pytest.approx(kilobytes * 1024, rel=0.05)
