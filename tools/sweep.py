"""`make sweep`: the experiments on this commit as one table, and one picture of the loss against a parameter.

Experiments on other commits ran other code, and are left out. The commit's own results are a line of the table too.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from pydantic import ValidationError

from charlm import paths
from charlm.console import run
from charlm.errors import CharlmError
from charlm.figures.layout import label, lay_out
from charlm.figures.style import LARGE, MEDIUM, Size, own_style, png
from charlm.files import write_bytes, write_csv
from charlm.palette import Styles, styles
from charlm.params import load
from charlm.results import Metrics, Trained
from stages.plot import Plot

# Not in Git: made in a moment from experiments that Git does not carry to others either.
FOLDER = Path("reports/sweep")

_MAKE_SOME = "`dvc exp run --queue -S attention.n_embd=16,64` and `dvc queue start` make some"
_LOG_SCALE_FROM = 8  # the largest value by the smallest


@dataclass(frozen=True)
class Experiment:
    """One finished run of the pipeline: its parameters by dotted name, and the models' results."""

    name: str
    params: dict[str, Any]
    models: dict[str, Trained]


@dataclass(frozen=True)
class Axis:
    """Where the values of a parameter lie: numbers where they are, anything else side by side."""

    numeric: bool
    places: list[float]
    names: list[str]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Return the axis for these values, in their order."""
        names = [_written(value) for value in values]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            return cls(True, [float(value) for value in values], names)
        distinct = list(dict.fromkeys(names))
        return cls(False, [float(distinct.index(name)) for name in names], names)


def main() -> None:
    """Read the experiments of the repository in the current folder, print the table, and write table and picture."""
    parser = argparse.ArgumentParser(prog="make sweep", description=__doc__)
    parser.add_argument("--param", help="the picture's horizontal axis, as attention.n_embd (default: what varies)")
    wanted = parser.parse_args().param

    experiments, unfinished = read()
    if unfinished:
        print(f"left out, since they have no results yet: {', '.join(unfinished)}", file=sys.stderr)
    if len(experiments) < 2:
        raise CharlmError(f"there is no finished experiment on this commit; {_MAKE_SOME}")
    varying = what_varies(experiments)
    param = choose(wanted, varying, experiments[0].params)
    varying.sort(key=lambda name: name != param)  # it comes first
    experiments.sort(key=lambda experiment: [_rank(experiment.params.get(name)) for name in varying])

    models = list(dict.fromkeys(model for experiment in experiments for model in experiment.models))
    header = ["experiment", *varying, *(f"{model}.{key}" for model in models for key in ("val_loss", "val_loss_sd"))]
    rows = [list(_row(experiment, varying, models)) for experiment in experiments]
    print(markdown(header, rows))
    picture = FOLDER / f"{param}.png"
    write_csv(FOLDER / "experiments.csv", header, rows)
    write_bytes(picture, png(sweep(experiments, param, varying, styles(models), Size(**load(Plot).model_dump()))))
    print(f"written: {FOLDER / 'experiments.csv'}, {picture}", file=sys.stderr)


def read() -> tuple[list[Experiment], list[str]]:
    """Return the commit and its experiments, and the names of those without results."""
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "exp", "show", "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CharlmError(f"`dvc exp show` says: {' '.join(done.stderr.split())}")
    *_, commit = json.loads(done.stdout)  # the workspace, then the commit
    names = [commit["name"] or commit["rev"][:7]]  # on no branch it has no name
    found = [_experiment(names[0], commit)]
    for experiment in commit["experiments"] or []:
        [revision, *_] = experiment["revs"]
        names.append(experiment["name"] or revision["rev"][:7])
        found.append(_experiment(names[-1], revision))
    unfinished = [name for name, experiment in zip(names, found, strict=True) if experiment is None]
    return [experiment for experiment in found if experiment], unfinished


def _experiment(name: str, revision: Mapping[str, Any]) -> Experiment | None:
    """Return what `dvc exp show` tells of a revision, None where it has no results."""
    try:
        metrics = Metrics.model_validate(revision["data"]["metrics"][str(paths.METRICS)]["data"])
        params = revision["data"]["params"][str(paths.PARAMS)]["data"]
    except (KeyError, TypeError, ValidationError):
        return None
    flat = {f"{section}.{key}": value for section, keys in params.items() for key, value in keys.items()}
    return Experiment(name, flat, metrics.models)


def what_varies(experiments: Sequence[Experiment]) -> list[str]:
    """Return the parameters that have more than one value, in the order of params.yaml."""
    names = dict.fromkeys(name for experiment in experiments for name in experiment.params)
    return [name for name in names if len({_written(experiment.params.get(name)) for experiment in experiments}) > 1]


def choose(wanted: str | None, varying: Sequence[str], known: Iterable[str]) -> str:
    """Return the parameter for the picture: the one that is wanted, or the only one that varies.

    Raises:
        CharlmError: it does not vary, or none or several do and none is named.
    """
    if wanted and wanted not in known:
        raise CharlmError(f"params.yaml has no {wanted}; what varies is {', '.join(varying) or 'nothing'}")
    if wanted and wanted not in varying:
        raise CharlmError(
            f"{wanted} has one value in all experiments; what varies is {', '.join(varying) or 'nothing'}"
        )
    if not varying:
        raise CharlmError(f"the experiments have the parameters of their commit and no others; {_MAKE_SOME}")
    if not wanted and len(varying) > 1:
        raise CharlmError(
            f"{', '.join(varying)} vary; name one for the picture: make sweep ARGS='--param {varying[0]}'"
        )
    return wanted or varying[0]


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the table for a person to read: columns of equal width."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    rule = "|" + "|".join(":" + "-" * (width + 1) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


@own_style()
def sweep(experiments: Sequence[Experiment], param: str, varying: Sequence[str], styles: Styles, size: Size) -> Figure:
    """Draw each model's validation loss against the parameter, with bars of one standard deviation over the seeds.

    Points are joined where nothing else varies and no value stands twice: else the line would mean nothing.
    """
    axis = Axis.of([experiment.params.get(param) for experiment in experiments])
    others = [name for name in varying if name != param]
    joined = axis.numeric and not others and len(set(axis.places)) == len(axis.places)

    figure = size.figure()
    axes = figure.add_subplot()
    labels = []
    for model, (colour, marker) in styles.items():
        points = sorted(
            (place, result.val_loss, result.val_loss_sd or 0)
            for place, experiment in zip(axis.places, experiments, strict=True)
            if (result := experiment.models.get(model))
        )
        x, y, sd = zip(*points, strict=True)
        axes.errorbar(x, y, sd, color=colour, marker=marker, markersize=6.5, linewidth=2, capsize=4, elinewidth=1.2,
                      linestyle="-" if joined else "", zorder=3)  # fmt: skip
        labels.append((y[-1], label(figure, model, colour=colour, size=LARGE, bold=True)))

    axes.margins(x=0.09)
    ticks = dict(zip(axis.places, axis.names, strict=True))
    if axis.numeric and min(ticks) > 0 and max(ticks) / min(ticks) >= _LOG_SCALE_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xlabel(param, fontsize=MEDIUM)
    axes.set_ylabel("validation loss (nats per character)", fontsize=MEDIUM)
    axes.tick_params(labelsize=MEDIUM)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    explanation = f"{_over_seeds(experiments)} Whole validation text, {len(experiments)} runs of the pipeline."
    if others:
        explanation += f"\nOther parameters differ as well: {', '.join(others)}."
    lay_out(figure, axes, f"Loss by {param}: lower is better", explanation, labels)
    return figure


def _row(experiment: Experiment, varying: Iterable[str], models: Iterable[str]) -> Iterator[Any]:
    yield experiment.name
    for name in varying:
        yield _written(experiment.params.get(name))
    for model in models:
        result = experiment.models.get(model)
        yield f"{result.val_loss:.4f}" if result else ""
        yield f"{result.val_loss_sd:.4f}" if result and result.val_loss_sd is not None else ""


def _over_seeds(experiments: Iterable[Experiment]) -> str:
    """Say what a point and its bar are."""
    seeds = sorted({len(experiment.params.get("train.seeds", ())) for experiment in experiments})
    if seeds == [1]:
        return "One seed each, so no bars."
    return f"Mean of {' or '.join(map(str, seeds))} seeds, bars ± 1 sd."


def _rank(value: Any) -> tuple[bool, float, str]:
    """Return what puts numbers in order, and anything else behind them."""
    number = isinstance(value, int | float)
    return (not number, value if number else 0.0, _written(value))


def _written(value: Any) -> str:
    """Return how a parameter's value is written, a number in one way only."""
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    run(main)
