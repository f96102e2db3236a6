"""The runs of one model: one for each seed, side by side, each independent of the others."""

import csv
import io
import logging
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from charlm import numerics, paths
from charlm.files import write_text
from charlm.lock import exclusive
from charlm.settings import Compute, Train, jobs
from charlm.workers import Task, run_tasks, stop_if_orphaned

log = logging.getLogger(__name__)


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

    A run that was stopped carries on from its last evaluation; see `charlm.resume`.
    """
    processes = jobs()  # before anything is touched: it may refuse
    checkpoints = {seed: paths.checkpoint(recipe.name, seed) for seed in train.seeds}
    states = {seed: paths.state(recipe.name, seed) for seed in train.seeds}
    tasks = [
        Task(
            "charlm.one_run:train_one",
            {
                "model": recipe.model,
                "shape": recipe.shape,
                "learning_rate": recipe.learning_rate,
                "seed": seed,
                "budget": train.model_dump(exclude={"seeds"}),
                "compute": compute.model_dump(),
                "checkpoint": str(checkpoints[seed]),
                "state": str(states[seed]),
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
        try:
            curves = run_tasks(
                tasks,
                jobs=processes,
                environment=numerics.environment(compute.numerics),
                on_event=lambda index, event: _show(bar, train.seeds[index], event),
                inherit=[lock],
            )
        except KeyboardInterrupt:
            bar.close()
            log.info("stopped; each run is kept as of its last evaluation, and `dvc repro` carries on from there")
            raise
        write_text(paths.curve(recipe.name), _as_csv(train.seeds, curves))
        shutil.rmtree(paths.state(recipe.name, train.seeds[0]).parent)
    for seed, curve in zip(train.seeds, curves, strict=True):
        log.info("%s, seed %d: validation loss %.4f nats per character", recipe.name, seed, curve[-1]["val_loss"])


def _show(bar: "tqdm[NoReturn]", seed: int, event: dict[str, Any]) -> None:
    bar.update(event.get("steps", 0))
    if "note" in event:
        bar.write(event["note"], file=sys.stderr)
    if "point" in event:
        point = event["point"]
        bar.set_postfix_str(
            f"seed {seed} step {point['step']}: "
            f"train {point['train_loss']:.4f}, validation {point['val_loss']:.4f} nats"
        )


def _remove_all_but(wanted: Collection[Path]) -> None:
    for folder in {path.parent for path in wanted}:
        for file in folder.glob("*"):
            if file not in wanted:
                file.unlink()


def _as_csv(seeds: tuple[int, ...], curves: list[list[dict[str, Any]]]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["seed", "step", "train_loss", "val_loss"])
    for seed, curve in zip(seeds, curves, strict=True):
        for point in curve:
            rows.writerow([seed, point["step"], f"{point['train_loss']:.6f}", f"{point['val_loss']:.6f}"])
    return text.getvalue()
