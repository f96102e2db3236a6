"""All pictures that the results have the makings of."""

from collections.abc import Mapping

from charlm import closed_form
from charlm import gains as gain
from charlm.details import Details
from charlm.figures.attention import attention_distance, attention_map
from charlm.figures.contexts import contexts
from charlm.figures.gains import gains
from charlm.figures.loss_curves import loss_curves
from charlm.figures.positions import positions
from charlm.figures.style import Size, png
from charlm.palette import styles
from charlm.results import Curve, Metrics


def draw(metrics: Metrics, curves: Mapping[str, Curve], details: Details, size: Size) -> dict[str, bytes]:
    """Return the pictures by name, each as a PNG file."""
    style = styles(metrics.models)
    pictures = {"loss_curves": loss_curves(curves, closed_form.levels(metrics), style, size)}
    if len(metrics.models) > 1:
        baseline, model, *_ = metrics.models
        kinds = gain.by_kind(details.characters, baseline, model)
        singles = gain.foremost(details.characters, baseline, model)
        pictures["gains"] = gains(kinds, singles, baseline, model, style, size)
    full = {name: model.val_loss_full for name, model in metrics.models.items() if model.val_loss_full is not None}
    if counts := closed_form.by_context(metrics):
        pictures["contexts"] = contexts(counts, full, style, size)
    if metrics.block_size > 1:  # with one character in sight there is nothing to look back at
        pictures["positions"] = positions(details.positions, style, size)
        for model, attention in list(details.attention.items())[:1]:
            pictures["attention_map"] = attention_map(model, attention, style, size)
            pictures["attention_distance"] = attention_distance(details.attention, style, size)
    return {name: png(picture) for name, picture in pictures.items()}
