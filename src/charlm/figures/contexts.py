"""What plain counting reaches with longer and longer contexts, and where the trained models stand."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from charlm.figures.layout import label, lay_out
from charlm.figures.style import INK, LARGE, MEDIUM, SMALL, Size, own_style
from charlm.palette import Styles


@own_style()
def contexts(counts: Mapping[int, float], models: Mapping[str, float], styles: Styles, size: Size) -> Figure:
    """Draw the validation loss of counts by the length of their context, and each model's as a level."""
    figure = size.figure()
    axes = figure.add_subplot()
    labels = []
    for model, loss in models.items():
        colour, marker = styles[model]
        axes.axhline(loss, color=colour, linewidth=2, zorder=2)
        axes.plot(
            1, loss, color=colour, marker=marker, markersize=7, transform=axes.get_yaxis_transform(), clip_on=False
        )
        labels.append((loss, label(figure, f"{model} {loss:.3f}", colour=colour, size=LARGE, bold=True)))
    lengths, losses = list(counts), list(counts.values())
    axes.plot(lengths, losses, color=INK, linewidth=1.5, linestyle="--", marker="o", markerfacecolor="white", zorder=3)
    for length, loss in counts.items():
        text = axes.annotate(
            f"{loss:.2f}", (length, loss), (4, 5), textcoords="offset points", fontsize=SMALL, zorder=4
        )
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])

    axes.margins(x=0.09, y=0.1)
    axes.set_xticks(lengths)
    axes.set_xlabel("characters of context that the counts know", fontsize=MEDIUM)
    axes.set_ylabel("loss (nats per character)", fontsize=MEDIUM)
    axes.tick_params(labelsize=MEDIUM)
    axes.spines[["top", "right"]].set_visible(False)
    explanation = (
        "Dashed: counts of the train text (interpolated modified Kneser-Ney). Solid: the\n"
        "trained models. Loss on the validation text, with a full context."
    )
    lay_out(figure, axes, "What plain counting reaches", explanation, labels)
    return figure
