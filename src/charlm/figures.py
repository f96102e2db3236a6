"""The pictures of the report, drawn from files alone: no display, no user's matplotlib settings, no torch.

The same curves give the same bytes of PNG, for one version of matplotlib.
"""

import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from charlm.errors import CharlmError
from charlm.results import Curve

# Okabe and Ito's colours, which colour-blind readers can tell apart. In grey they cannot be told apart: that is
# what the markers are for.
_STYLES = {"bigram": ("#D55E00", "o"), "attention": ("#0072B2", "s")}
_FURTHER_STYLES = (("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#000000", "X"))
_INK = "#222222"
_QUIET = "#595959"

# Points. A figure of 8 inches shown 360 pixels wide has 45 pixels per inch: 13 points are 8 pixels there.
_LARGE, _MEDIUM, _SMALL = 13, 12, 9

_MARGIN_IN = 0.1  # around everything
_LEADER_IN = 0.3  # from the end of a line to its label
_LABEL_PITCH = 1.1  # from label to label, in heights of a label
_WARM_UP = 0.1  # the part of the run whose losses do not count for the range of y


@contextmanager
def _own_style() -> Iterator[None]:
    """Set matplotlib's own defaults, and with them the font it ships, whatever a user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.family": ["DejaVu Sans"], "text.color": _INK, "axes.edgecolor": _QUIET})
        yield


@_own_style()
def png(figure: Figure) -> bytes:
    """Return the picture as a PNG file, without the date and the name of the program that made it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


@_own_style()
def loss_curves(
    curves: Mapping[str, Curve], levels: Mapping[str, float], *, width: float, height: float, dpi: int
) -> Figure:
    """Draw the losses of each model while it trains, and the closed-form `levels` (label -> loss) beside them.

    Width and height are in inches. The range of y is that of the losses after the first tenth of the steps;
    what lies above it is named in the subtitle.

    Raises:
        CharlmError: the curves are not of the same seeds, so that they must not be compared.
    """
    if len({curve.seeds for curve in curves.values()}) > 1:
        seeds = "; ".join(f"{model} {', '.join(map(str, curve.seeds))}" for model, curve in curves.items())
        raise CharlmError(f"the curves are of different seeds ({seeds}); run `dvc repro`")

    figure = Figure(figsize=(width, height), dpi=dpi)
    axes = figure.add_subplot()
    low, high = _range_of_interest(curves, levels)
    axes.set_ylim(low, high)
    last = max(int(curve.steps[-1]) for curve in curves.values())
    axes.set_xlim(0, max(1, last) * 1.012)  # room for the half of the last marker

    labels = []  # (loss, text)
    label_text = partial(figure.text, 0, 0, va="center_baseline")
    for label, loss in levels.items():
        if loss <= high:
            axes.axhline(loss, color=_QUIET, linestyle=":", linewidth=1.2, zorder=1)
            labels.append((loss, label_text(f"{label} {loss:.3f}", color=_QUIET, fontsize=_SMALL)))
    further = itertools.cycle(_FURTHER_STYLES)
    for model, curve in curves.items():
        colour, marker = _STYLES.get(model) or next(further)
        val, train = _draw_model(axes, curve, colour, marker)
        labels.append((val, label_text(f"{model} {val:.3f}", color=colour, fontsize=_LARGE, weight="bold")))
        labels.append((train, label_text(f"{model}, train {train:.3f}", color=colour, fontsize=_SMALL)))

    axes.set_xlabel("step", fontsize=_MEDIUM)
    axes.set_ylabel("loss (nats per character)", fontsize=_MEDIUM)
    axes.tick_params(labelsize=_MEDIUM)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)

    heading = partial(figure.text, 0, 0, va="top", wrap=True)
    title = heading("Loss while training: lower is better", fontsize=_LARGE, weight="bold")
    explanation = heading(_explanation(curves, levels, high), color=_QUIET, fontsize=_SMALL, linespacing=1.3)
    _lay_out(figure, axes, (title, explanation), labels)
    return figure


def _range_of_interest(curves: Mapping[str, Curve], levels: Mapping[str, float]) -> tuple[float, float]:
    """Return the lowest and the highest loss to show, with some air."""
    late = [
        losses[:, curve.steps >= _WARM_UP * curve.steps[-1]]
        for curve in curves.values()
        for losses in (curve.train, curve.val)
    ]
    top = max(float(losses.max()) for losses in late)
    bottom = min(*(float(losses.min()) for losses in late), *levels.values())
    air = max(0.04 * (top - bottom), 0.001)
    return bottom - air, top + air


def _draw_model(axes: Axes, curve: Curve, colour: str, marker: str) -> tuple[float, float]:
    """Draw one model's lines and band; return where its validation and train lines end."""
    val, train = curve.val.mean(axis=0), curve.train.mean(axis=0)
    if len(curve.seeds) > 1:
        sd = curve.val.std(axis=0, ddof=1)
        axes.fill_between(curve.steps, val - sd, val + sd, color=colour, alpha=0.22, linewidth=0, zorder=2)
    axes.plot(curve.steps, train, color=colour, linestyle="--", linewidth=1.1, zorder=3)
    axes.plot(
        curve.steps,
        val,
        color=colour,
        linewidth=2.0,
        marker=marker,
        markersize=5.5,
        markevery=max(1, len(curve.steps) // 10),
        zorder=4,
    )
    return float(val[-1]), float(train[-1])


def _explanation(curves: Mapping[str, Curve], levels: Mapping[str, float], high: float) -> str:
    """Say what the lines are, and what is left out above `high`."""
    seeds = len(next(iter(curves.values())).seeds)
    solid = f"mean of {seeds} seeds, band ± 1 sd" if seeds > 1 else "one seed, no spread"
    above = [f"{label} {loss:.3f}" for label, loss in levels.items() if loss > high]
    worst = max(float(losses.mean(axis=0).max()) for curve in curves.values() for losses in (curve.train, curve.val))
    if worst > high:
        above.insert(0, f"the first steps, up to {worst:.3f}")
    lines = [f"Solid: validation, {solid}. Dashed: a sample of train. Dotted: closed form, from counts."]
    if above:
        lines.append(f"Off the top: {'; '.join(above)}.")
    return "\n".join(lines)


def _lay_out(figure: Figure, axes: Axes, heading: Sequence[Text], labels: Sequence[tuple[float, Text]]) -> None:
    """Place the heading above the axes and the labels at their right, all measured, none over another."""
    margin, leader = _MARGIN_IN * figure.dpi, _LEADER_IN * figure.dpi
    to_figure = figure.transFigure.inverted()  # from pixels

    top = figure.bbox.height - margin
    for text in heading:
        x, y = to_figure.transform((margin, top))
        text.set_position((x, y))
        top = text.get_window_extent().y0 - margin / 2
    boxes = [text.get_window_extent() for _, text in labels]
    right = figure.bbox.width - margin - max(box.width for box in boxes) - leader

    x, y = to_figure.transform((right + margin, top + margin))  # the layout keeps a margin of its own
    figure.set_layout_engine("constrained", rect=(0, 0, x, y), w_pad=_MARGIN_IN, h_pad=_MARGIN_IN)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")

    ends = [float(axes.transData.transform((0, loss))[1]) for loss, _ in labels]
    centres = spread(ends, [_LABEL_PITCH * box.height for box in boxes], axes.bbox.y0, axes.bbox.y1)
    for (_, text), end, centre in zip(labels, ends, centres, strict=True):
        pixels = [(axes.bbox.x1 + part * leader, y) for part, y in ((0.1, end), (0.85, centre), (1, centre))]
        start, bend, (x, y) = to_figure.transform(pixels)
        text.set_position((x, y))
        figure.add_artist(Line2D(*zip(start, bend, strict=True), color=text.get_color(), linewidth=0.8))


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Return centres for intervals of these sizes that do not overlap, each as near to the wanted one as can be.

    The sum of the squared moves is the least possible within low..high (or upwards from low, where the
    intervals together are longer than that). Their order is that of `wanted`.
    """

    def edges(members: Sequence[int]) -> list[float]:
        return list(itertools.accumulate((sizes[i] for i in members), initial=0.0))

    def start_of(members: Sequence[int]) -> float:
        *starts, length = edges(members)
        wishes = [wanted[i] - sizes[i] / 2 - start for i, start in zip(members, starts, strict=True)]
        return max(low, min(high - length, math.fsum(wishes) / len(wishes)))

    # Intervals that touch form a group, which lies where the mean of its members' wishes is.
    groups: list[list[int]] = []
    for index in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        members = [index]
        while groups and start_of(groups[-1]) + edges(groups[-1])[-1] > start_of(members):
            members = groups.pop() + members
        groups.append(members)

    centres = {
        i: start_of(members) + start + sizes[i] / 2
        for members in groups
        for i, start in zip(members, edges(members), strict=False)
    }
    return [centres[i] for i in range(len(wanted))]
