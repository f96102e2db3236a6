"""How the loss falls while each model trains."""

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from charlm.errors import CharlmError
from charlm.figures.layout import label, lay_out
from charlm.figures.style import LARGE, MEDIUM, QUIET, Size, own_style
from charlm.palette import Style, Styles
from charlm.results import Curve

_WARM_UP = 0.1  # the part of the run whose losses do not count for the range of y


@own_style()
def loss_curves(curves: Mapping[str, Curve], levels: Mapping[str, float], styles: Styles, size: Size) -> Figure:
    """Draw the losses of each model while it trains, and the closed-form `levels` (label -> loss) beside them.

    The range of y is that of the losses after the first tenth of the steps; what lies above it is named in the
    subtitle.

    Raises:
        CharlmError: the curves are not of the same seeds, so that they must not be compared.
    """
    if len({curve.seeds for curve in curves.values()}) > 1:
        seeds = "; ".join(f"{model} {', '.join(map(str, curve.seeds))}" for model, curve in curves.items())
        raise CharlmError(f"the curves are of different seeds ({seeds}); run `dvc repro`")

    figure = size.figure()
    axes = figure.add_subplot()
    low, high = _range_of_interest(curves, levels)
    axes.set_ylim(low, high)
    last = max(int(curve.steps[-1]) for curve in curves.values())
    axes.set_xlim(0, max(1, last) * 1.012)  # room for the half of the last marker

    labels = []
    for name, loss in levels.items():
        if loss <= high:
            axes.axhline(loss, color=QUIET, linestyle=":", linewidth=1.2, zorder=1)
            labels.append((loss, label(figure, f"{name} {loss:.3f}")))
    for model, curve in curves.items():
        colour = styles[model].colour
        val, train = _draw_model(axes, curve, styles[model])
        labels.append((val, label(figure, f"{model} {val:.3f}", colour=colour, size=LARGE, bold=True)))
        # No number: of a sample, it may lie below what is possible on the whole.
        labels.append((train, label(figure, f"{model}, sample of train", colour=colour)))

    axes.set_xlabel("step", fontsize=MEDIUM)
    axes.set_ylabel("loss (nats per character)", fontsize=MEDIUM)
    axes.tick_params(labelsize=MEDIUM)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    lay_out(figure, axes, "Loss while training: lower is better", _explanation(curves, levels, high), labels)
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


def _draw_model(axes: Axes, curve: Curve, style: Style) -> tuple[float, float]:
    """Draw one model's lines and band; return where its validation and train lines end."""
    val, train = curve.val.mean(axis=0), curve.train.mean(axis=0)
    if len(curve.seeds) > 1:
        sd = curve.val.std(axis=0, ddof=1)
        axes.fill_between(curve.steps, val - sd, val + sd, color=style.colour, alpha=0.22, linewidth=0, zorder=2)
    axes.plot(curve.steps, train, color=style.colour, linestyle="--", linewidth=1.1, zorder=3)
    axes.plot(
        curve.steps,
        val,
        color=style.colour,
        linewidth=2.0,
        marker=style.marker,
        markersize=5.5,
        markevery=max(1, len(curve.steps) // 10),
        zorder=4,
    )
    return float(val[-1]), float(train[-1])


def _explanation(curves: Mapping[str, Curve], levels: Mapping[str, float], high: float) -> str:
    """Say what the lines are, and what is left out above `high`."""
    seeds = len(next(iter(curves.values())).seeds)
    solid = f"mean of {seeds} seeds, ± 1 sd" if seeds > 1 else "one seed, no spread"
    above = [f"{name} {loss:.3f}" for name, loss in levels.items() if loss > high]
    worst = max(float(losses.mean(axis=0).max()) for curve in curves.values() for losses in (curve.train, curve.val))
    if worst > high:
        above.insert(0, f"the first steps, up to {worst:.3f}")
    dotted = _dotted(name for name, loss in levels.items() if loss <= high)
    lines = [f"Solid: validation, {solid}. Dashed: sample of train.{dotted}"]
    if above:
        lines.append(f"Off the top: {'; '.join(above)}.")
    return "\n".join(lines)


def _dotted(names: Iterable[str]) -> str:
    """Say what the dotted lines are: counts of the train text, but for "uniform", which counts nothing."""
    kinds = {"uniform" if name == "uniform" else "counts": None for name in names}
    return f" Dotted: {' and '.join(kinds)}." if kinds else ""
