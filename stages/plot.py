"""Stage plot: the pictures and the report, from curves, metrics, texts and the details behind them."""

from typing import ClassVar

from pydantic import Field

from charlm import paths
from charlm.details import read_details
from charlm.figures import album
from charlm.figures.style import Size
from charlm.files import write_bytes, write_text
from charlm.params import Section, load
from charlm.reading import read_json
from charlm.report import rendering
from charlm.report.content import content
from charlm.results import Metrics, Samples, read_curve
from charlm.stage import run


class Plot(Section):
    """The section `plot` of params.yaml: how large the pictures are."""

    section: ClassVar[str] = "plot"
    width: float = Field(ge=6, le=20, description="inches, from 6 to 20")
    height: float = Field(ge=4, le=20, description="inches, from 4 to 20")
    dpi: int = Field(ge=50, le=600, description="whole pixels per inch, from 50 to 600")


def main() -> None:
    """Make all outputs before any is written, so that a broken input changes none."""
    size = Size(**load(Plot).model_dump())
    metrics = read_json(Metrics, paths.METRICS)
    samples = read_json(Samples, paths.SAMPLES)
    curves = {model: read_curve(paths.curve(model)) for model in metrics.models}
    details = read_details(metrics.models)

    pictures = album.draw(metrics, curves, details, size)
    said = content(metrics, samples, details)
    markdown, html = rendering.markdown(said, pictures), rendering.html(said, pictures)

    for name, picture in pictures.items():
        write_bytes(paths.figure(name), picture)
    write_text(paths.REPORT, markdown)
    write_text(paths.HTML_REPORT, html)


if __name__ == "__main__":
    run(main)
