"""`make bench` refuses what it cannot do, and its processes are pinned, told apart and ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import texts
from benchmarks.__main__ import choose, rounds_of
from benchmarks.harness import call, cores, run
from benchmarks.items import items
from benchmarks.profiling import OUTSIDE, group_of
from benchmarks.texts import ALPHABETS, write
from charlm.errors import CharlmError

ROOT = Path(__file__).resolve().parent.parent.parent


def bench(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (("--only", "trigram"), {}, "error: there is no item 'trigram'; there are bigram-portable, "),
        (("--scale", "--only", "bigram"), {}, "error: --scale measures all sizes; leave out --only"),
        (("--rounds", "0"), {}, "error: --rounds is 0; it wants a whole number of at least 1"),
        (("--only", "counts"), {"CHARLM_CORPUS": "/nowhere/corpus.txt"}, "error: /nowhere/corpus.txt is not there; "),
    ],
)
def test_what_can_be_mended_is_one_line(arguments: tuple[str, ...], variables: dict[str, str], said: str) -> None:
    done = bench(*arguments, **variables)
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_items_are_chosen_by_name_or_beginning() -> None:
    known = items()
    assert choose(known, None) == known
    assert [item.name for item in choose(known, ["bigram", "counts"])] == ["bigram-portable", "bigram-native", "counts"]
    assert len({item.name for item in known}) == len(known)
    assert len({line.title for item in known for line in item.lines}) == sum(len(item.lines) for item in known)


def test_as_many_rounds_as_asked_for_but_of_what_takes_long() -> None:
    for wanted in (1, 5, 10):
        fewer = {"repro": 3, "tokenize-shuffled": 2}
        assert {item.name: rounds_of(item, wanted) for item in items()} == {
            item.name: min(wanted, fewer.get(item.name, wanted)) for item in items()
        }


def test_a_process_is_pinned_and_has_only_the_variables_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    monkeypatch.setenv("CHARLM_JOBS", "7")
    code = (
        "import os; print(sorted(os.sched_getaffinity(0)), "
        "*(os.environ.get(name) for name in ('MKL_CBWR', 'CHARLM_JOBS', 'A')))"
    )
    before = os.sched_getaffinity(0)
    ended = run([sys.executable, "-c", code], environment={"A": "b"}, on=cores()[-1:])
    assert ended.output.strip() == f"{cores()[-1:]} None None b"
    assert os.sched_getaffinity(0) == before


def test_memory_is_told_with_and_without_mapped_files(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(bytes(60_000_000))
    code = (
        "import mmap, sys, time; file = open(sys.argv[1], 'rb'); m = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ);"
        "sum(m[::4096]); time.sleep(0.2)"
    )
    mapped = run([sys.executable, "-c", code, str(file)], environment={}, on=cores())
    assert mapped.peak > 60 > mapped.peak_anonymous > 1
    held = run(
        [sys.executable, "-c", "import time; x = b'1' * 60_000_000; time.sleep(0.2)"], environment={}, on=cores()
    )
    assert held.peak_anonymous > 60


def test_the_process_that_measures_is_small() -> None:
    """Linux tells a process's peak from before its `exec` too, when it was still its parent's."""
    code = "import sys, benchmarks.__main__; print(*{'torch', 'numpy'} & set(sys.modules))"
    ended = run([sys.executable, "-c", code], environment={}, on=cores())
    assert ended.output.strip() == ""
    assert ended.peak_anonymous < 100


def test_a_failure_says_what_the_process_said() -> None:
    with pytest.raises(CharlmError, match=r"status 3:\nout\nand out"):
        run(["sh", "-c", "echo out; echo and out >&2; exit 3"], environment={}, on=cores())


def test_a_called_function_gives_back_what_it_returned() -> None:
    said = call("benchmarks.plain:tokenizing", environment={}, on=cores(), corpus=str(ROOT / "LICENSE"), clock="wall")
    assert said.result["speed"] > 0


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 4_000_001])
@pytest.mark.parametrize("kind", ALPHABETS)
def test_a_generated_text_has_its_size_and_is_utf8(
    kind: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_BLOCK_CHARACTERS", 100_000)  # as many take a while to draw
    write(path=str(tmp_path / "text"), kind=kind, size=size)
    content = (tmp_path / "text").read_bytes()
    assert len(content) == size
    text = content.decode("utf-8")
    if size > 1000:
        lengths = {len(character.encode()) for character in set(text)}
        assert lengths == ({1} if kind == "ASCII" else {1, 2, 3, 4})
        assert set(text) <= set("".join(ALPHABETS[kind]))


@pytest.mark.parametrize(
    ("operator", "group"),
    [
        ("aten::bmm", "matrix products"),
        ("MmBackward0", "matrix products"),
        # These two took half of the portable attention step, which has no other products.
        ("_Product", "matrix products"),
        ("_ProductBackward", "matrix products"),
        ("autograd::engine::evaluate_function: _ProductBackward", OUTSIDE),
        ("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OUTSIDE),
        ("aten::mul", "other operators"),
        ("aten::mT", "other operators"),
        ("aten::_log_softmax_backward_data", "softmax and cross-entropy"),
        ("aten::nll_loss_forward", "softmax and cross-entropy"),
        ("NllLossBackward0", "softmax and cross-entropy"),
        ("aten::_fused_adamw_", "optimizer"),
        ("aten::_foreach_add_", "optimizer"),
        ("Optimizer.step#AdamW.step", "optimizer"),
        ("aten::embedding_dense_backward", "gathers and their gradients"),
        ("aten::add_", "other operators"),
    ],
)
def test_operators_are_grouped(operator: str, group: str) -> None:
    assert group_of(operator) == group
