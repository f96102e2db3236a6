"""Where a head of attention looks."""

from collections.abc import Mapping

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from charlm import characters
from charlm.details import Attention
from charlm.figures.layout import label, lay_out
from charlm.figures.style import APART, LARGE, MEDIUM, QUIET, SMALL, Size, drawable, own_style
from charlm.palette import Styles

_LONGEST = 40  # characters that the axes have room for
_HEADING_IN = 0.68  # what the heading of the map needs beyond the room that the axes leave
_LABELS_IN_POINTS = 340  # the length of an axis of the map, with air between the labels
_VALUES = 2  # distances whose weights are written down
_MARKERS = 12  # on a line, at most


@own_style()
def attention_map(model: str, attention: Attention, styles: Styles, size: Size) -> Figure:
    """Draw the weights on the beginning of a text: a row for each place that looks, a column for each looked at."""
    T = min(len(attention.text), _LONGEST)  # a place looks at no later one, so nothing is cut off of these rows
    weights = np.array(attention.weights)[:T, :T]
    weights = np.ma.masked_where(np.triu(np.ones((T, T), dtype=bool), 1), weights)
    colours = LinearSegmentedColormap.from_list(model, ["#ffffff", styles[model].colour, "#001a2b"])

    figure = size.figure(height=size.width + _HEADING_IN)
    axes = figure.add_subplot(anchor="NW")
    image = axes.imshow(weights, cmap=colours, norm=PowerNorm(0.5, vmin=0, vmax=1), interpolation="none")
    signs = [drawable(characters.sign(character)) for character in attention.text[:T]]
    font = min(MEDIUM, _LABELS_IN_POINTS / T)
    axes.set_xticks(range(T), signs, fontsize=font, fontfamily=APART, parse_math=False)
    axes.set_yticks(range(T), signs, fontsize=font, fontfamily=APART, parse_math=False, ha="center")
    axes.tick_params(length=0)
    axes.tick_params(axis="y", pad=font / 2 + 3)
    axes.set_xlabel("… to this character", fontsize=MEDIUM)
    axes.set_ylabel("weight from this character …", fontsize=MEDIUM)
    axes.spines[:].set_visible(False)
    axes.plot([-0.5, -0.5, T - 0.5], [-0.5, T - 0.5, T - 0.5], color=QUIET, linewidth=0.8, clip_on=False)

    inside = axes.inset_axes((0.45, 0.84, 0.5, 0.035))  # above the diagonal, where nothing is
    bar = figure.colorbar(image, cax=inside, orientation="horizontal", ticks=[0, 0.1, 0.25, 0.5, 1])
    bar.ax.set_xticklabels(["0", "0.1", "0.25", "0.5", "1"], fontsize=SMALL)
    bar.ax.set_title("weight; each row sums to 1", fontsize=MEDIUM, loc="left")
    explanation = (
        "A stretch of validation text. After each character, the weights it gives to itself and\n"
        "to those before it (␣ space, ↵ newline). Above the diagonal: the future, hidden."
    )
    lay_out(figure, axes, f"Where {model} looks", explanation)
    return figure


@own_style()
def attention_distance(attentions: Mapping[str, Attention], styles: Styles, size: Size) -> Figure:
    """Draw the mean weight by the distance looked back."""
    figure = size.figure()
    axes = figure.add_subplot()
    labels = []
    for model, attention in attentions.items():
        colour, marker = styles[model]
        mean = attention.by_distance
        every = -(-len(mean) // _MARKERS)
        axes.plot(
            mean, color=colour, linewidth=2, marker=marker, markersize=5.5, markevery=every, zorder=3, clip_on=False
        )
        for distance, weight in enumerate(mean[: _VALUES if len(attentions) == 1 else 0]):
            axes.annotate(f"{weight:.2f}", (distance, weight), (9, 2), textcoords="offset points", fontsize=SMALL)
        labels.append((mean[-1], label(figure, model, colour=colour, size=LARGE, bold=True)))
    T = max(len(attention.by_distance) for attention in attentions.values())
    even = [float(np.mean([1 / places for places in range(distance + 1, T + 1)])) for distance in range(T)]
    axes.plot(even, color=QUIET, linewidth=1.2, linestyle=":")
    labels.append((even[-1], label(figure, "if it looked evenly")))

    axes.set_ylim(bottom=0)
    axes.set_xlabel("characters back (0: the latest one)", fontsize=MEDIUM)
    axes.set_ylabel("mean weight", fontsize=MEDIUM)
    axes.tick_params(labelsize=MEDIUM)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    lay_out(
        figure,
        axes,
        "How far back the attention goes",
        "Mean over the validation text, in windows as in training.",
        labels,
    )
    return figure
