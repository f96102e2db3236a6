"""Stage plot: the loss curves as a picture, and the report, from curves, metrics and samples."""

from typing import ClassVar

from pydantic import Field

from charlm import figures, paths, report, results
from charlm.console import run
from charlm.files import write_bytes, write_text
from charlm.params import Section, load


class Plot(Section):
    """The section `plot` of params.yaml: how large the picture is."""

    section: ClassVar[str] = "plot"
    width: float = Field(ge=6, le=20, description="inches, from 6 to 20")
    height: float = Field(ge=4, le=20, description="inches, from 4 to 20")
    dpi: int = Field(ge=50, le=600, description="whole pixels per inch, from 50 to 600")


def main() -> None:
    """Make both outputs before either is written, so that a broken input changes neither."""
    plot = load(Plot)
    metrics = results.read(results.Metrics, paths.METRICS)
    samples = results.read(results.Samples, paths.SAMPLES)
    curves = {model: results.read_curve(paths.curve(model)) for model in metrics.models}

    picture = figures.loss_curves(curves, report.levels(metrics), width=plot.width, height=plot.height, dpi=plot.dpi)
    image = figures.png(picture)
    text = report.markdown(report.content(metrics, samples))

    write_bytes(paths.LOSS_CURVES, image)
    write_text(paths.REPORT, text)


if __name__ == "__main__":
    run(main)
