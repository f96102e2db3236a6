"""Both sides of a ratio are measured by the same clock, so that a busy machine is not counted against one alone."""

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks import large, plain, program, work
from benchmarks.harness import Ended
from benchmarks.items import items
from benchmarks.scene import Scene
from charlm import paths
from charlm.splits import save_tokens
from charlm.vocabulary import Vocabulary

pytestmark = pytest.mark.usefixtures("torch_as_before")
LENGTH = 3  # of a text that is sampled

CLOCK_OF = {
    "bigram-portable": work.PROCESSOR,
    "bigram-native": work.PROCESSOR,
    "attention-portable": work.PROCESSOR,
    "attention-native": work.PROCESSOR,
    "validation-bigram": work.PROCESSOR,
    "validation-attention": work.PROCESSOR,
    "tokenize-ascii": work.WALL,
    "tokenize-mixed": work.WALL,
    "tokenize-shuffled": work.WALL,
    "large": work.WALL,
    "sampling": work.PROCESSOR,
    "counts": work.PROCESSOR,
}
BY_WHOLE_PROGRAMS = {"repro", "no-op"}  # the harness has one clock for all that it runs


class Recorder:
    """A scene in which nothing runs, and which remembers by what clock it would have been measured."""

    text, prepared, cores = Path("text"), Path("prepared"), (0,)

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.clocks: list[str] = []

    def call(self, target: str, *, clock: str, **rest: Any) -> Any:
        self.clocks.append(clock)
        result = dict.fromkeys(("speed", "together", "time", "loss", "estimate", "sd"), 1.0)
        return SimpleNamespace(result=result, peak=1.0, peak_anonymous=1.0)

    program = plain = call

    def with_checkpoint(self, model: str) -> Path:
        return self.prepared

    def tokenized(self, name: str, text: Path) -> Path:
        return text


@pytest.mark.parametrize("item", items(), ids=lambda item: item.name)
def test_an_item_gives_its_sides_one_clock(item: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if item.name in BY_WHOLE_PROGRAMS:
        return
    recorder = Recorder(tmp_path)

    def tokenize(folder: Path, on: Any) -> Ended:
        recorder.clocks.append(work.WALL)  # the harness's
        return Ended(1.0, 1.0, 1.0, "")

    monkeypatch.setattr(large, "tokenize", tokenize)
    monkeypatch.setattr(large, "lay_out", lambda *arguments: None)
    monkeypatch.setattr(large, "_text", lambda *arguments: Path("text"))
    pairs = item.measure(cast(Scene, recorder))
    sides = 1 if all(theirs is None for _, theirs in pairs) else 2
    assert recorder.clocks == [CLOCK_OF[item.name]] * sides


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, corpus_text: str) -> Path:
    """A short text, its tokens, and a checkpoint of each model."""
    folder = tmp_path_factory.mktemp("clocks")
    text = corpus_text[:20_000]
    vocabulary = Vocabulary.of(text)
    tokens = vocabulary.encode(text)
    cut = int(0.9 * len(tokens))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("text").write_text(text, encoding="utf-8")
        vocabulary.save(paths.VOCABULARY)
        save_tokens(paths.TRAIN_TOKENS, tokens[:cut])
        save_tokens(paths.VAL_TOKENS, tokens[cut:])
        for model in work.MODELS:
            program.checkpoint(model=model, numerics="native", steps=1)
    return folder


OURS, THEIRS = {"numerics": "native"}, {"corpus": "text"}
TRAINING = {"model": "bigram", "seconds": 1.0}
SAMPLING = {"model": "attention"}
# What each says after one second: its fewest steps, all of the texts, one measurement.
TIMED: dict[str, tuple[Callable[..., dict[str, float]], dict[str, Any], str, float]] = {
    "program, training": (program.training, TRAINING | OURS, "speed", 20),
    "plain, training": (plain.training, TRAINING | THEIRS, "speed", 20),
    "program, validation": (program.validation, TRAINING | OURS, "time", 1),
    "plain, validation": (plain.validation, TRAINING | THEIRS, "time", 1),
    "program, sampling": (program.generation, SAMPLING | OURS, "speed", work.TEXTS * LENGTH),
    "plain, sampling": (plain.generation, SAMPLING | THEIRS, "speed", work.TEXTS * LENGTH),
    "plain, sampling in one batch": (plain.generation, SAMPLING | THEIRS, "together", work.TEXTS * LENGTH),
    "program, counts": (program.count_models, {"longest": 1} | OURS, "time", 1),
    "plain, tokenizing": (plain.tokenizing, THEIRS, "speed", 0.02),
}


@pytest.mark.parametrize("clock", work.CLOCKS)
@pytest.mark.parametrize("timed", TIMED)
def test_each_side_looks_at_the_clock_that_it_is_given_and_at_no_other(
    timed: str, clock: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, arguments, figure, expected = TIMED[timed]
    if function is program.training:
        arguments = arguments | {"text_folder": str(folder)}
    seconds = itertools.count()  # at every look one more has passed
    monkeypatch.setattr(work, "CLOCKS", {clock: lambda: float(next(seconds))})
    monkeypatch.setattr(work, "TEXT_LENGTH", LENGTH)
    monkeypatch.setattr(work, "SAMPLED_BATCHES", 2)
    monkeypatch.chdir(folder)
    assert function(**arguments, clock=clock)[figure] == expected
