"""How time and memory of a training step grow with each size, and where the time goes: `make bench ARGS=--scale`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import work
from benchmarks.scene import Scene
from benchmarks.table import markdown, shown

SECONDS = 240.0  # that all of it takes, about
_SECONDS = 1.5  # of each training
_VOCABULARY = 65
_TOKENS = 300_000
_REPEATS = 3  # of each training; the fastest counts

_PROFILED = (
    "Shares of the wall clock under torch's profiler, which slows what lies between the operators most; the last line "
    "is processor time without it."
)

DEFAULTS = {"batch_size": work.BATCH_SIZE, "block_size": work.BLOCK_SIZE, "n_embd": work.N_EMBD, "V": _VOCABULARY}
SIZES = {
    "batch_size": (8, 32, 128, 512),
    "block_size": (8, 32, 128, 512),
    "n_embd": (8, 32, 128, 512),
    "V": (65, 512, 2048, 8192),
}
NAMES = {"batch_size": "batch", "block_size": "block", "n_embd": "n_embd", "V": "V"}


@dataclass(frozen=True)
class Cost:
    """What a training takes.

    Attributes:
        step: milliseconds of the processor.
        memory: MB of anonymous memory, without what torch takes before there is a model.
    """

    step: float
    memory: float


def measure_scale(scene: Scene, progress: Callable[[str], None]) -> str:
    """Measure and return the section: a table for each model, and the parts of a step."""
    folders = {V: scene.scratch / f"V {V}" for V in sorted({*SIZES["V"], DEFAULTS["V"]})}
    for V, folder in folders.items():
        folder.mkdir()
        scene.program("benchmarks.program:random_tokens", folder=folder, vocab_size=V, length=_TOKENS)
    introduction = (
        f"One size at a time is changed from batch {work.BATCH_SIZE}, block {work.BLOCK_SIZE}, "
        f"n_embd {work.N_EMBD} and V {_VOCABULARY}; portable, one thread, drawn characters; processor time. Growth is "
        "the exponent between a line and the one above it: 1 is in proportion, 0 is free. Memory is the most that a "
        "run takes, keeping its state included; anonymous, and above that of a process that has imported torch and has "
        "no model yet."
    )
    said = [introduction]
    for model in work.MODELS:
        said += [f"### {model}", _table(model, folders, scene, progress)]
    said += ["### Where the time of a step goes", _PROFILED, _parts(scene, progress)]
    return "\n\n".join(part.strip() for part in said)


def growth(before: float, after: float, size_before: float, size_after: float) -> float:
    """Return the exponent p for which a cost that is size^p would have grown so, to two digits."""
    exponent = math.log(after / before) / math.log(size_after / size_before)
    return round(exponent, 2) + 0.0  # which is never -0.0


def rows(name: str, costs: dict[int, Cost]) -> list[list[str]]:
    """Return the lines of a table for the sizes of one kind."""
    found: list[list[str]] = []
    last: int | None = None
    for size, cost in costs.items():
        cells = [f"{name} {size:,}", f"{shown(cost.step)} ms", "", f"{shown(cost.memory)} MB", ""]
        if last is not None:
            before = costs[last]
            cells[2] = f"{growth(before.step, cost.step, last, size):.2f}"
            cells[4] = f"{growth(before.memory, cost.memory, last, size):.2f}"
        found.append(cells)
        last = size
    return found


def _table(model: str, folders: dict[int, Path], scene: Scene, progress: Callable[[str], None]) -> str:
    measured: dict[tuple[int, ...], Cost] = {}
    lines: list[list[str]] = []
    for kind, sizes in SIZES.items():
        if kind == "n_embd" and model == "bigram":
            continue
        costs: dict[int, Cost] = {}
        for size in sizes:
            at = DEFAULTS | {kind: size}
            key = tuple(at.values())
            if key not in measured:
                measured[key] = _cost(model, at, folders, scene)
                progress(f"{model}, {NAMES[kind]} {size}: {shown(measured[key].step)} ms a step")
            costs[size] = measured[key]
        lines += rows(NAMES[kind], costs)
    return markdown(["size", "step", "growth", "memory", "growth"], lines)


def _cost(model: str, at: dict[str, int], folders: dict[int, Path], scene: Scene) -> Cost:
    sizes = {name: size for name, size in at.items() if name != "V"}
    found = [
        scene.program(
            "benchmarks.program:cost",
            model=model,
            text_folder=str(folders[at["V"]]),
            seconds=_SECONDS,
            clock=work.PROCESSOR,
            sizes=sizes,
        )
        for _ in range(_REPEATS)
    ]
    memory = sorted(ended.peak_anonymous - ended.result["idle"] for ended in found)
    return Cost(min(1000 * ended.result["step"] for ended in found), memory[_REPEATS // 2])


def _parts(scene: Scene, progress: Callable[[str], None]) -> str:
    columns = {}
    for model in work.MODELS:
        for numerics in work.NUMERICS:
            ended = scene.program(
                "benchmarks.profiling:shares", numerics=numerics, model=model, text_folder=str(scene.prepared)
            )
            columns[f"{model}, {numerics}"] = ended.result
            progress(f"profiled {model}, {numerics}")
    names = [name for name in next(iter(columns.values())) if name != "step"]
    lines = [[name, *(f"{parts[name]:.0%}" for parts in columns.values())] for name in names]
    lines.append(["whole step", *(f"{parts['step']:.0f} µs" for parts in columns.values())])
    return markdown(["part of a step", *columns], lines)
