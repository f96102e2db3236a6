"""The runs of one model: one for each seed, side by side, each independent of the others."""

import csv
import io
import logging
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from charlm import numerics, paths
from charlm.files import write_text
from charlm.settings import Compute, Train, jobs
from charlm.workers import Task, run_tasks

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
    """Train the model once per seed; write a checkpoint for each run and one CSV with all their loss curves."""
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
                "checkpoint": str(paths.checkpoint(recipe.name, seed)),
            },
        )
        for seed in train.seeds
    ]
    with tqdm(total=train.steps * len(tasks), desc=recipe.name, unit=" steps", disable=None) as bar:

        def show(index: int, event: dict[str, Any]) -> None:
            bar.update(event["steps"])
            if "point" in event:
                point = event["point"]
                bar.set_postfix_str(
                    f"seed {train.seeds[index]} step {point['step']}: "
                    f"train {point['train_loss']:.4f}, validation {point['val_loss']:.4f} nats"
                )

        curves = run_tasks(tasks, jobs=jobs(), environment=numerics.environment(compute.numerics), on_event=show)
    for seed, curve in zip(train.seeds, curves, strict=True):
        log.info("%s, seed %d: validation loss %.4f nats per character", recipe.name, seed, curve[-1]["val_loss"])
    write_text(paths.curve(recipe.name), _as_csv(train.seeds, curves))


def _as_csv(seeds: tuple[int, ...], curves: list[list[dict[str, Any]]]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["seed", "step", "train_loss", "val_loss"])
    for seed, curve in zip(seeds, curves, strict=True):
        for point in curve:
            rows.writerow([seed, point["step"], f"{point['train_loss']:.6f}", f"{point['val_loss']:.6f}"])
    return text.getvalue()
