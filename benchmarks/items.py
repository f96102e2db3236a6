"""All items of the benchmark, and how those on the text itself are measured."""

from functools import partial
from typing import Any

from benchmarks import large, pipeline, work
from benchmarks.item import Item, Pair
from benchmarks.scene import Scene
from benchmarks.table import Goal, Line

_SECONDS = 2.0  # that each side of a round computes, where it can be chosen
_LONGEST = 8  # context of the count models
_AT_SIZE = f"batch {work.BATCH_SIZE} × block {work.BLOCK_SIZE}"
_SAMPLED = f"{work.SAMPLED_BATCHES} × {work.BATCH_SIZE * work.BLOCK_SIZE:,} sampled tokens"
_TEXTS = f"sampling, attention, {work.TEXTS} texts of {work.TEXT_LENGTH:,} characters"


def items() -> list[Item]:
    """Return all items, in the order of the table."""
    return [
        _training("bigram", "portable", 4.0),
        _training("bigram", "native", 4.0),
        _training("attention", "portable", 1.4),
        _training("attention", "native", 2.2),
        *(_validation(model) for model in work.MODELS),
        *pipeline.ITEMS,
        *large.ITEMS,
        Item(
            "sampling",
            (
                Line(f"{_TEXTS} (plain: one by one)", "characters/s", Goal(8, at_least=True)),
                Line(f"{_TEXTS} (plain: in one batch)", "characters/s", None),
            ),
            _measure_sampling,
            seconds=20,
        ),
        Item(
            "counts",
            (
                Line(f"count models to context {_LONGEST}: time", "s", Goal(15, at_least=False, by_ratio=False)),
                Line(f"count models to context {_LONGEST}: memory", "MB", Goal(1000, at_least=False, by_ratio=False)),
            ),
            _measure_counts,
            seconds=18,
        ),
    ]


def _training(model: str, numerics: str, bound: float) -> Item:
    line = Line(f"{model} training, {_AT_SIZE}, {numerics}", "steps/s", Goal(bound, at_least=True))
    measure = partial(_measure_training, model=model, numerics=numerics)
    return Item(f"{model}-{numerics}", (line,), measure, seconds=9)


def _measure_training(scene: Scene, model: str, numerics: str) -> list[Pair]:
    both: dict[str, Any] = {"model": model, "seconds": _SECONDS, "clock": work.PROCESSOR}
    ours = scene.program("benchmarks.program:training", numerics=numerics, text_folder=str(scene.prepared), **both)
    theirs = scene.plain("benchmarks.plain:training", corpus=str(scene.text), **both)
    return [(ours.result["speed"], theirs.result["speed"])]


def _validation(model: str) -> Item:
    lines = (
        Line(f"{model}, validation loss: exact, against {_SAMPLED}", "s", Goal(0.5, at_least=False)),
        Line(f"{model}, standard deviation of that loss", "nats", None),
    )
    return Item(f"validation-{model}", lines, partial(_measure_validation, model=model), seconds=9)


def _measure_validation(scene: Scene, model: str) -> list[Pair]:
    both: dict[str, Any] = {"model": model, "seconds": _SECONDS, "clock": work.PROCESSOR}
    folder = scene.with_checkpoint(model)
    ours = scene.program("benchmarks.program:validation", folder=folder, **both).result
    theirs = scene.plain("benchmarks.plain:validation", folder=folder, corpus=str(scene.text), **both).result
    if abs(ours["loss"] - theirs["estimate"]) > 6 * theirs["sd"]:
        raise RuntimeError(f"the exact loss is {ours['loss']} and the estimate {theirs['estimate']}")
    return [(ours["time"], theirs["time"]), (0.0, theirs["sd"])]


def _measure_sampling(scene: Scene) -> list[Pair]:
    both: dict[str, Any] = {"model": "attention", "clock": work.PROCESSOR}
    folder = scene.with_checkpoint("attention")
    ours = scene.program("benchmarks.program:generation", folder=folder, **both).result
    theirs = scene.plain("benchmarks.plain:generation", corpus=str(scene.text), **both).result
    return [(ours["speed"], theirs["speed"]), (ours["speed"], theirs["together"])]


def _measure_counts(scene: Scene) -> list[Pair]:
    ended = scene.program(
        "benchmarks.program:count_models", folder=scene.prepared, longest=_LONGEST, clock=work.PROCESSOR
    )
    return [(ended.result["time"], None), (ended.peak, None)]
