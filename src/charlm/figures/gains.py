"""Which characters the second model predicts better than the first, and what each adds to the difference."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from charlm import characters
from charlm.figures.layout import lay_out
from charlm.figures.style import APART, INK, MEDIUM, QUIET, SMALL, Size, drawable, own_style
from charlm.gains import Gain
from charlm.palette import Styles

_ROW_IN = 0.235
_LEAST_RANGE = 0.001  # nats
_HEADING_AND_AXIS_IN = 1.6


@own_style()
def gains(
    kinds: Sequence[Gain], singles: Sequence[Gain], baseline: str, model: str, styles: Styles, size: Size
) -> Figure:
    """Draw both models' losses for each kind and each single character, and what each adds to the difference."""
    rows = [*kinds, *singles]
    places = [*range(len(kinds)), *(len(kinds) + 0.6 + i for i in range(len(singles)))]
    figure = size.figure(height=_HEADING_AND_AXIS_IN + _ROW_IN * (places[-1] + 1))
    losses, parts = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))

    losses.hlines(places, [row.baseline for row in rows], [row.model for row in rows], color=QUIET, linewidth=1.2)
    for name, values in ((baseline, [row.baseline for row in rows]), (model, [row.model for row in rows])):
        colour, marker = styles[name]
        losses.plot(values, places, color=colour, marker=marker, markersize=6.5, linestyle="", label=name, zorder=3)
    losses.set_yticks(places, [_tick(row.name) for row in rows])
    for tick in losses.get_yticklabels()[len(kinds) :]:
        tick.set_fontfamily(APART)
    losses.set_ylim(places[-1] + 0.7, -0.7)
    losses.set_xlabel("loss (nats per character)", fontsize=MEDIUM)
    losses.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=MEDIUM, frameon=False, handletextpad=0.2,
                  borderaxespad=0, columnspacing=1)  # fmt: skip

    falls = [row.part <= 0 for row in rows]
    colours = [styles[model].colour if fall else styles[baseline].colour for fall in falls]
    parts.barh(places, [row.part for row in rows], color=colours, height=0.7, hatch=["" if f else "///" for f in falls],
               edgecolor="white", linewidth=0)  # fmt: skip
    parts.axvline(0, color=INK, linewidth=0.8)
    parts.set_xlabel("part (nats per character)", fontsize=MEDIUM)
    low, high = min(0, *(row.part for row in rows)), max(_LEAST_RANGE, *(row.part for row in rows))
    room = 0.42 * (high - low)  # for the numbers beside the bars
    parts.set_xlim(low - room, high + room)
    parts.xaxis.set_major_formatter("{x:.3g}")
    for row, place in zip(rows, places, strict=True):
        parts.annotate(
            f"{row.part:+.3f}".replace("-", "−"),
            (row.part, place),
            (-3 if row.part <= 0 else 3, 0),
            textcoords="offset points",
            fontsize=SMALL,
            ha="right" if row.part <= 0 else "left",
            va="center_baseline",
        )

    for axes, most_ticks in ((losses, 4), (parts, 3)):
        axes.locator_params(axis="x", nbins=most_ticks)
        axes.tick_params(labelsize=MEDIUM)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.axhline(len(kinds) - 0.2, color=QUIET, linewidth=0.8, linestyle=":")
        axes.set_axisbelow(True)
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    explanation = (
        "Left: how hard each is to predict. Right: its part of the whole difference in loss.\n"
        "Below the dotted line: the single characters with the largest parts."
    )
    lay_out(figure, losses, "Where the difference comes from", explanation)
    return figure


def _tick(name: str) -> str:
    """Return a kind as it is, and a character as it can be drawn: by its number where the font lacks it."""
    if len(name) > 1:
        return name
    shown = characters.name(name)
    return shown if drawable(shown) == shown else f"U+{ord(name):04X}"
