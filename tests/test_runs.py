"""What a person sees of the runs while they take turns."""

import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from tqdm import tqdm

from charlm import one_run, resume, runs
from charlm.errors import CharlmError
from tests.small_run import go_where_tokens_are


class Bar(tqdm):  # type: ignore[type-arg]
    """A bar that notes what it is told to write above itself."""

    lines: list[str]

    @classmethod
    def write(cls, s: str, file: Any = None, end: str = "\n", nolock: bool = False) -> None:
        cls.lines.append(s)


@pytest.fixture
def bar() -> Bar:
    """A bar for two runs of 1,000 steps."""
    Bar.lines = []
    return Bar(total=2000, file=io.StringIO())


def train_in_turns(bar: Bar, folder: Path, monkeypatch: pytest.MonkeyPatch, **budget: int) -> None:
    """Train a small model in this process, and show what it tells."""
    go_where_tokens_are(folder, monkeypatch)
    progress = runs._Progress(bar)
    curve = None
    while curve is None:
        curve = one_run.train_one(
            model="charlm.models.bigram:BigramLanguageModel",
            shape={},
            learning_rate=0.01,
            seed=1,
            corpus_sha256="",
            budget={"batch_size": 2, "block_size": 4, **budget},
            compute={"device": "cpu", "numerics": "native"},
            checkpoint="checkpoint",
            state="state",
            turn=-(-budget["steps"] // runs._TURNS),
            tell=lambda event: progress.show(1, event),
        )


def show(bar: Bar, *events: tuple[int, dict[str, Any]]) -> None:
    progress = runs._Progress(bar)
    for seed, event in events:
        progress.show(seed, event)


def point(step: int) -> dict[str, Any]:
    return {"point": {"step": step, "train_loss": 2.5, "val_loss": 2.75}}


def test_runs_from_the_start_count_each_step_once_whatever_turns_they_take(bar: Bar) -> None:
    turns = [(seed, event) for first in (0, 500) for seed in (1, 2) for event in ({"after": first}, {"steps": 500})]
    turns[0] = 1, point(0)
    turns[2] = 2, point(0)
    show(bar, *turns)
    assert (bar.n, bar.initial) == (2000, 0)
    assert Bar.lines == []


@pytest.mark.parametrize("eval_interval", [7, 130, 250, 1000, 5000])
def test_a_real_run_in_turns_fills_the_bar_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eval_interval: int
) -> None:
    Bar.lines = []
    bar = Bar(total=1000, file=io.StringIO())
    train_in_turns(bar, tmp_path, monkeypatch, steps=1000, eval_interval=eval_interval)
    assert bar.n == 1000
    assert Bar.lines == []


def test_a_run_that_begins_anew_in_every_turn_is_stopped(
    bar: Bar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the code was edited between the starts of two workers: each refuses what the other kept."""
    numbers = itertools.count()
    monkeypatch.setattr(resume, "fingerprint", lambda *shaping, **more: str(next(numbers)))
    with pytest.raises(CharlmError, match=r"^seed 1 begins anew after step 100: the code or the data changed while it"):
        train_in_turns(bar, tmp_path, monkeypatch, steps=1000, eval_interval=50)
    assert Bar.lines == ["state is of a run with other parameters, data or code: not used"]


def test_a_run_that_was_stopped_is_told_once_and_its_steps_of_before_count(bar: Bar) -> None:
    note = {"note": "state.older is torn or altered: not used"}
    stopped: list[dict[str, Any]] = [
        note,
        {"after": 300},
        {"steps": 50},
        point(360),
        {"after": 360},
        {"steps": 40},
        note,
    ]
    show(bar, *((1, event) for event in stopped), (2, {"after": 0}))
    assert (bar.n, bar.initial) == (400, 300), "what was done before is no part of the speed"
    assert Bar.lines == [
        "state.older is torn or altered: not used",
        "seed 1 carries on from step 300",
        "seed 2 carries on from step 0",
    ]


def test_where_no_terminal_shows_the_bar_the_same_is_told() -> None:
    Bar.lines = []
    show(Bar(total=2000, file=io.StringIO(), disable=True), (1, {"after": 300}), (1, {"steps": 50}), (1, point(350)))
    assert Bar.lines == ["seed 1 carries on from step 300"]


def test_the_last_point_stands_beside_the_bar(bar: Bar) -> None:
    show(bar, (2, point(250)))
    assert bar.postfix == "seed 2 step 250: train 2.5000, validation 2.7500 nats"
