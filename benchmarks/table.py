"""How the figures are shown, and the file that keeps them."""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from charlm.files import write_text

RESULTS = Path(__file__).with_name("RESULTS.md")
SIDE_BY_SIDE, SCALE = "Side by side", "Scale"
_HEAD = """# Measured

What `make bench` and `make bench ARGS=--scale` measured; each writes its section. What was tried, and what limits the
rest: [the log](LOG.md), written by hand.
"""
_WHERE = "On one core (cold `dvc repro`: two) of {machine}, with torch {torch}."


@dataclass(frozen=True)
class Goal:
    """What is to be reached: at least or at most `bound`, by the ratio or by the program's own figure."""

    bound: float
    at_least: bool
    by_ratio: bool = True

    def met(self, value: float) -> bool:
        """Whether `value` is good enough."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{' ×' if self.by_ratio else ''}"


@dataclass(frozen=True)
class Line:
    """A line of the table, before there are figures.

    Attributes:
        title: what is measured, under which conditions.
        unit: of both figures.
        goal: None where the figures speak for themselves.
    """

    title: str
    unit: str
    goal: Goal | None


@dataclass(frozen=True)
class Figures:
    """What was measured, round by round; `plain` holds None where there is nothing to compare with."""

    line: Line
    program: tuple[float, ...]
    plain: tuple[float | None, ...]

    @property
    def ratios(self) -> list[float]:
        """The program's figure over the plain one's, round by round."""
        return [ours / theirs for ours, theirs in zip(self.program, self.plain, strict=True) if theirs]

    @property
    def met(self) -> bool | None:
        """Whether the median reached the goal; None where there is no goal."""
        if self.line.goal is None:
            return None
        return self.line.goal.met(statistics.median(self.ratios if self.line.goal.by_ratio else self.program))

    def cells(self) -> list[str]:
        """Return the line's cells."""
        theirs = [value for value in self.plain if value is not None]
        return [
            self.line.title,
            f"{shown(statistics.median(self.program))} {self.line.unit}",
            f"{shown(statistics.median(theirs))} {self.line.unit}" if theirs else "–",
            ratio_shown(self.ratios) if self.ratios and any(self.program) else "–",
            _goal_shown(self.line),
            {True: "yes", False: "**no**", None: "–"}[self.met],
        ]


def shown(value: float) -> str:
    """Write a number with three digits, or all of them before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 0.01 and value:
        return f"{value:.2g}"
    return f"{value:.3g}"


def ratio_shown(ratios: Sequence[float]) -> str:
    """Write the median and the range."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def _goal_shown(line: Line) -> str:
    if line.goal is None:
        return "–"
    return str(line.goal) if line.goal.by_ratio else f"{line.goal} {line.unit}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is aligned left, the others right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def side_by_side(figures: Sequence[Figures], rounds: int) -> str:
    """Return the table of all items; those that did not have so many rounds tell how many they had."""
    rows = [line.cells() for line in figures]
    for row, line in zip(rows, figures, strict=True):
        if (had := len(line.program)) != rounds:
            row[0] += f"; {had} round{'s' if had > 1 else ''}"
    return markdown(["item", "program", "plain", "ratio: median (range)", "goal", "met"], rows)


def write_section(title: str, content: str, path: Path = RESULTS) -> None:
    """Put `content` under its heading into the file of results, and leave the other sections as they are."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n?)*)", old, re.MULTILINE))
    where = _WHERE.format(machine=processor(), torch=version("torch").partition("+")[0])
    sections |= {title: f"{where}\n\n{content}"}
    kept = [f"## {name}\n\n{sections[name].strip()}\n" for name in (SIDE_BY_SIDE, SCALE) if name in sections]
    write_text(path, "\n".join([_HEAD, *kept]))


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor's type, and nothing else of the machine."""
    found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip() if found else "an unnamed processor"
