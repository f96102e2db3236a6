"""What an item of the benchmark is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.scene import Scene
from benchmarks.table import Line

Pair = tuple[float, float | None]  # the program's figure and the plain one's, if there is one


@dataclass(frozen=True)
class Item:
    """Something to measure.

    Attributes:
        name: for `--only`.
        lines: of the table.
        measure: one round, the program and the plain loop one after the other; a pair for each line.
        seconds: that a round takes, about.
        rounds: at most so many, where one takes long.
    """

    name: str
    lines: tuple[Line, ...]
    measure: Callable[[Scene], Sequence[Pair]]
    seconds: float
    rounds: int | None = None
