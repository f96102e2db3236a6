"""The same colour for the same model everywhere."""

import json
from pathlib import Path

from charlm.palette import styles

ROOT = Path(__file__).resolve().parent.parent


def test_the_template_of_dvc_plots_gives_each_model_the_colour_of_the_pictures() -> None:
    """Vega-Lite gives the colours of the range to the models in the order of `sort`, and to others by their names."""
    template = json.loads((ROOT / ".dvc/plots/loss_curves.json").read_text(encoding="utf-8"))
    colour = template["spec"]["encoding"]["color"]
    assert colour["field"] == "model"
    known, colours = colour["sort"], colour["scale"]["range"]
    models = [*known, *(f"other {i}" for i in range(len(colours) - len(known)))]
    assert dict(zip(models, colours, strict=True)) == {name: style.colour for name, style in styles(models).items()}
    assert styles(reversed(known)) == styles(known), "and these whatever the order"
