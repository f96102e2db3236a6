"""What `evaluate` asks of single models, where a text is not the usual one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm import one_evaluation, paths
from charlm.errors import CharlmError
from charlm.vocabulary import Vocabulary
from tests.test_cli.scratch import BLOCK_SIZE, SEEDS, write_repository

COMPUTE = {"device": "cpu", "numerics": "native"}
TEXT = "to be or not to be, that is the question " * 30


@pytest.fixture(autouse=True)
def _in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work where models and tokens of a text without a newline are, and leave torch as it was."""
    monkeypatch.chdir(write_repository(tmp_path, TEXT))
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)


def test_a_model_of_as_many_other_characters_is_refused() -> None:
    """Its shape fits, so it could be scored, and each loss would be of other characters."""
    Vocabulary.of(TEXT.replace("q", "Q")).save(paths.VOCABULARY)
    path = paths.checkpoint("bigram", SEEDS[0])
    with pytest.raises(CharlmError) as caught:
        one_evaluation.score_checkpoint(checkpoint=str(path), block_length=100, compute=COMPUTE, tell=print)
    assert str(caught.value) == f"{path} was trained on another vocabulary than {paths.VOCABULARY}; run `dvc repro`"


def test_kneser_ney_is_left_out_for_a_text_beyond_the_limit_and_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    train = len(TEXT) * 9 // 10

    def scored() -> set[str]:
        return set(
            one_evaluation.score_kneser_ney(contexts=[1, 2], block_size=BLOCK_SIZE, compute=COMPUTE, tell=said.append)
        )

    monkeypatch.setattr(one_evaluation, "_COUNTED_AT_MOST", train)
    assert scored() == {"kneser_ney_1", "kneser_ney_2"}
    monkeypatch.setattr(one_evaluation, "_COUNTED_AT_MOST", train - 1)
    assert scored() == set()
    assert said[-1] == (
        f"closed form: no Kneser-Ney, whose counts of {train:,} characters would take too much memory; "
        f"the limit is {train - 1:,}"
    )


def test_a_text_without_newlines_is_continued_from_its_most_frequent_character() -> None:
    [(most, _)] = Counter(TEXT).most_common(1)
    found = one_evaluation.sample_checkpoint(
        checkpoint=str(paths.checkpoint("bigram", SEEDS[0])),
        compute=COMPUTE,
        prompt="",
        length=5,
        temperatures=[1.0],
        seed=1,
        tell=print,
    )
    assert found["prompt"] == most
