"""The report of any results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from charlm import paths
from charlm.details import read_details
from charlm.reading import read_json
from charlm.report import rendering
from charlm.report.content import content
from charlm.results import Metrics, Samples
from tests.examples import write_results
from tests.report.pages import Page, read_html, read_markdown

PICTURES = ("loss_curves", "positions", "gains", "contexts", "attention_map", "attention_distance")


class Report(NamedTuple):
    """Both renderings, as written and as read."""

    markdown: str
    html: str
    markdown_page: Page
    html_page: Page

    @property
    def pages(self) -> tuple[Page, Page]:
        """Both as a reader sees them."""
        return self.markdown_page, self.html_page


Render = Callable[..., Report]


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """Return a function that renders the example results, with parts of them replaced, and these pictures."""
    monkeypatch.chdir(tmp_path)

    def render(pictures: Sequence[str] = PICTURES, **changed: Any) -> Report:
        write_results(tmp_path, **changed)
        metrics = read_json(Metrics, paths.METRICS)
        said = content(metrics, read_json(Samples, paths.SAMPLES), read_details(metrics.models))
        drawn = dict.fromkeys(pictures, b"a picture")
        markdown, html = rendering.markdown(said, drawn), rendering.html(said, drawn)
        return Report(markdown, html, read_markdown(markdown), read_html(html))

    return render
