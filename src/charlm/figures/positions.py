"""What each further character in sight is worth: loss by place in the window."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from charlm.figures.layout import label, lay_out
from charlm.figures.style import LARGE, MEDIUM, Size, own_style
from charlm.palette import Styles

_MARKERS = 12  # on a line, at most


@own_style()
def positions(losses: Mapping[str, NDArray[np.float64]], styles: Styles, size: Size) -> Figure:
    """Draw the validation loss of each model, by the number of characters that it can see."""
    figure = size.figure()
    axes = figure.add_subplot()
    labels = []
    for model, by_position in losses.items():
        colour, marker = styles[model]
        in_sight = np.arange(1, len(by_position) + 1)
        every = -(-len(by_position) // _MARKERS)
        axes.plot(
            in_sight, by_position, color=colour, linewidth=2, marker=marker, markersize=5.5, markevery=every, zorder=3
        )
        end = float(by_position[-1])
        labels.append((end, label(figure, f"{model} {end:.3f}", colour=colour, size=LARGE, bold=True)))

    axes.set_xlabel("characters in sight, from the start of the window", fontsize=MEDIUM)
    axes.set_ylabel("loss (nats per character)", fontsize=MEDIUM)
    axes.tick_params(labelsize=MEDIUM)
    longest = max(map(len, losses.values()))
    ticks = MaxNLocator(integer=True).tick_values(1, longest)
    axes.set_xticks([1, *(int(tick) for tick in ticks if 1 < tick <= longest)])
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    explanation = (
        "Validation text, mean over all windows and seeds. The models share their ups and\n"
        "downs, since they predict the same characters."
    )
    lay_out(figure, axes, "What more characters in sight are worth", explanation, labels)
    return figure
