"""The runs of one model: one for each seed, side by side, each independent of the others."""

import logging
import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from charlm import files, numerics, paths
from charlm.errors import CharlmError
from charlm.lock import exclusive
from charlm.settings import Compute, Train, jobs
from charlm.workers import Task, run_tasks, stop_if_orphaned

log = logging.getLogger(__name__)

_TURNS = 10  # that each of many runs takes, so that all end at about the same time on any number of cores


@dataclass(frozen=True)
class Recipe:
    """How one model is made and trained.

    Attributes:
        name: what its checkpoints and curve are called.
        model: its class, written "module:class".
        learning_rate: AdamW's.
        shape: the class's arguments beyond vocab_size and block_size.
    """

    name: str
    model: str
    learning_rate: float
    shape: dict[str, int]


def train_all(recipe: Recipe, train: Train, compute: Compute) -> None:
    """Train the model once per seed; write a checkpoint for each run and one CSV with all their loss curves.

    A run that was stopped carries on from its last evaluation; see `charlm.resume`. Where there are more runs than
    processes, they take turns.
    """
    processes = jobs()  # before anything is touched: it may refuse
    checkpoints = {seed: paths.checkpoint(recipe.name, seed) for seed in train.seeds}
    states = {seed: paths.state(recipe.name, seed) for seed in train.seeds}
    turn = -(-train.steps // _TURNS) if len(train.seeds) > processes else None
    corpus = files.sha256(paths.CORPUS)
    tasks = [
        Task(
            "charlm.one_run:train_one",
            {
                "model": recipe.model,
                "shape": recipe.shape,
                "learning_rate": recipe.learning_rate,
                "seed": seed,
                "corpus_sha256": corpus,
                "budget": train.model_dump(exclude={"seeds"}),
                "compute": compute.model_dump(),
                "checkpoint": str(checkpoints[seed]),
                "state": str(states[seed]),
                "turn": turn,
                "processes": min(processes, len(train.seeds)),
            },
        )
        for seed in train.seeds
    ]
    with (
        exclusive(paths.lock(recipe.name), f"training {recipe.name}") as lock,
        tqdm(total=train.steps * len(tasks), desc=recipe.name, unit=" steps", disable=None) as bar,
    ):
        stop_if_orphaned()  # it may have waited long for the lock
        # A trainer that was killed, or outlived its pipeline, may have written here until it let go of the lock.
        _remove_all_but(checkpoints.values())
        for leftover in paths.curve(recipe.name).parent.glob(f".{recipe.name}.csv.*.tmp"):
            leftover.unlink()
        progress = _Progress(bar)
        try:
            curves = run_tasks(
                tasks,
                jobs=processes,
                environment=numerics.environment(compute.numerics),
                on_event=lambda index, event: progress.show(train.seeds[index], event),
                inherit=[lock],
            )
        except KeyboardInterrupt:
            bar.close()
            log.info("stopped; each run is kept as of its last evaluation, and `dvc repro` carries on from there")
            raise
        files.write_csv(
            paths.curve(recipe.name), ["seed", "step", "train_loss", "val_loss"], _rows(train.seeds, curves)
        )
        shutil.rmtree(paths.state(recipe.name, train.seeds[0]).parent)
    for seed, curve in zip(train.seeds, curves, strict=True):
        log.info("%s, seed %d: validation loss %.4f nats per character", recipe.name, seed, curve[-1]["val_loss"])


class _Progress:
    """What the runs tell, on a progress bar: what they tell in every turn is shown once."""

    def __init__(self, bar: "tqdm[NoReturn]") -> None:
        self._bar = bar
        self._shown: dict[int, int] = {}  # for each seed, how many of its steps are on the bar
        self._measured: dict[int, int] = {}  # and at which step it was measured last
        self._said: set[str] = set()

    def show(self, seed: int, event: dict[str, Any]) -> None:
        """Show an event of `charlm.one_run`.

        Raises:
            CharlmError: when a run begins anew after a turn, as it would for ever.
        """
        match event:
            case {"note": line}:
                self._say(line)
            case {"after": step}:
                if seed not in self._measured:
                    self._say(f"seed {seed} carries on from step {step}")
                    if not self._bar.disable:  # a bar that is not shown has no `initial`
                        self._bar.initial += step  # done before, so no part of the speed
                    self._bar.n += step
                    self._shown[seed] = step
                self._advance(seed, step)
            case {"steps": steps}:
                self._advance(seed, self._shown.get(seed, 0) + steps)
            case {"point": {"step": step, "train_loss": train, "val_loss": val}}:
                if step <= self._measured.get(seed, -1):
                    raise CharlmError(
                        f"seed {seed} begins anew after step {self._measured[seed]}: the code or the data changed "
                        "while it trained, or its state was removed; run it again"
                    )
                self._measured[seed] = step
                self._bar.set_postfix_str(f"seed {seed} step {step}: train {train:.4f}, validation {val:.4f} nats")

    def _advance(self, seed: int, step: int) -> None:
        self._bar.update(step - self._shown.get(seed, 0))
        self._shown[seed] = step

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._bar.write(line, file=sys.stderr)


def _remove_all_but(wanted: Collection[Path]) -> None:
    for folder in {path.parent for path in wanted}:
        for file in folder.glob("*"):
            if file not in wanted:
                file.unlink()


def _rows(seeds: tuple[int, ...], curves: list[list[dict[str, Any]]]) -> Iterator[tuple[Any, ...]]:
    for seed, curve in zip(seeds, curves, strict=True):
        for point in curve:
            yield seed, point["step"], f"{point['train_loss']:.6f}", f"{point['val_loss']:.6f}"
