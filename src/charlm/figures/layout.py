"""Where things lie in a picture: all measured, so that no text lies over another, whatever it says."""

import itertools
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from charlm.figures.style import LARGE, QUIET, SMALL

_MARGIN_IN = 0.1  # around everything
_LEADER_IN = 0.3  # from the end of a line to its label
_LABEL_PITCH = 1.1  # from label to label, in heights of a label

Labels = Sequence[tuple[float, Text]]  # where on the y axis each belongs, and the label


def label(figure: Figure, text: str, *, colour: str = QUIET, size: float = SMALL, bold: bool = False) -> Text:
    """Make a label, which `lay_out` places."""
    weight = "bold" if bold else "normal"
    return figure.text(0, 0, text, va="center_baseline", color=colour, fontsize=size, weight=weight, parse_math=False)


def lay_out(figure: Figure, axes: Axes, title: str, explanation: str, labels: Labels = ()) -> None:
    """Place the heading above the axes, and the labels at their right with a leader from where each belongs."""
    margin, leader = _MARGIN_IN * figure.dpi, _LEADER_IN * figure.dpi
    to_figure = figure.transFigure.inverted()  # from pixels

    top = figure.bbox.height - margin
    for text in (
        figure.text(0, 0, title, va="top", fontsize=LARGE, weight="bold", wrap=True),
        figure.text(0, 0, explanation, va="top", color=QUIET, fontsize=SMALL, linespacing=1.3, wrap=True),
    ):
        text.set_parse_math(False)
        x, y = to_figure.transform((margin, top))
        text.set_position((x, y))
        top = text.get_window_extent().y0 - margin / 2
    boxes = [text.get_window_extent() for _, text in labels]
    right = figure.bbox.width - (margin + max(box.width for box in boxes) + leader if boxes else 0)

    x, y = to_figure.transform((right + (margin if boxes else 0), top + margin))  # the layout keeps a margin of its own
    figure.set_layout_engine("constrained", rect=(0, 0, x, y), w_pad=_MARGIN_IN, h_pad=_MARGIN_IN)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")

    ends = [float(axes.transData.transform((0, at))[1]) for at, _ in labels]
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
