"""The report's content, from metrics and samples, and its Markdown.

`content` decides what is said; `templates/report.md.j2` says it. No torch, no matplotlib.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from charlm import paths
from charlm.results import Counts, Difference, Metrics, Samples

_TEMPLATES = Path(__file__).parent / "templates"

_CLOSED_FORM = {
    "uniform": "uniform",
    "unigram": "unigram counts",
    "bigram": "bigram counts, add one",
    "bigram_ml": "bigram counts, best on train",
}

# Standard errors that a mean difference must exceed before it is called one.
_STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Row:
    """A line of the table of results; None where there is no such number. Losses in nats per character."""

    label: str
    parameters: int | None
    train_loss: float | None
    val_loss: float | None
    val_loss_sd: float | None
    val_bits: float | None
    val_perplexity: float | None
    val_accuracy: float | None


@dataclass(frozen=True)
class Verdict:
    """How the second model compares with the first, the baseline."""

    outcome: Literal["lower", "higher", "unclear", "one seed"]
    model: str
    baseline: str
    difference: Difference


@dataclass(frozen=True)
class Content:
    """All that the report says, in no markup."""

    verdict: Verdict | None  # none: there is one model only
    trained: tuple[Row, ...]
    closed_form: tuple[Row, ...]
    metrics: Metrics
    samples: Samples
    picture: str  # its address, seen from the report
    standard_errors: int = _STANDARD_ERRORS


def content(metrics: Metrics, samples: Samples) -> Content:
    """Decide what the report says."""
    return Content(
        verdict=_verdict(metrics),
        trained=tuple(Row(name, **model.model_dump()) for name, model in metrics.models.items()),
        closed_form=tuple(_closed_form_row(name, model) for name, model in metrics.counts.items()),
        metrics=metrics,
        samples=samples,
        picture=paths.LOSS_CURVES.relative_to(paths.REPORT.parent).as_posix(),
    )


def levels(metrics: Metrics) -> dict[str, float]:
    """Return label -> loss of the closed-form models: on validation, or on train where that is all there is."""
    losses = {}
    for name, model in metrics.counts.items():
        loss = model.train_loss if model.val_loss is None else model.val_loss
        if loss is not None:
            losses[_closed_form_label(name)] = loss
    return losses


def markdown(what: Content) -> str:
    """Return the report as Markdown."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (Markdown: what is not ours is fenced)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for filter_ in (number, percent, whole, code, quoted, fence):
        environment.filters[filter_.__name__] = filter_
    return environment.get_template("report.md.j2").render(vars(what))


def _verdict(metrics: Metrics) -> Verdict | None:
    if metrics.difference is None or len(metrics.models) == 1:
        return None
    baseline, model, *_ = metrics.models
    return Verdict(_outcome(metrics.difference, metrics.seeds), model, baseline, metrics.difference)


def _outcome(difference: Difference, seeds: int) -> Literal["lower", "higher", "unclear", "one seed"]:
    if difference.val_loss_sd is None:
        return "one seed"
    if abs(difference.val_loss) <= _STANDARD_ERRORS * difference.val_loss_sd / math.sqrt(seeds):
        return "unclear"
    return "lower" if difference.val_loss < 0 else "higher"


def _closed_form_row(name: str, model: Counts) -> Row:
    loss = model.val_loss
    return Row(
        label=_closed_form_label(name),
        parameters=None,
        train_loss=model.train_loss,
        val_loss=loss,
        val_loss_sd=None,
        val_bits=None if loss is None else loss / math.log(2),
        val_perplexity=None if loss is None else math.exp(loss),
        val_accuracy=None,
    )


def _closed_form_label(name: str) -> str:
    return _CLOSED_FORM.get(name, name)


def number(value: float | None, digits: int = 4) -> str:
    """Return the number with so many decimals, or a dash for none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Return a fraction as a percentage, or a dash for none."""
    return "–" if value is None else f"{value:.1%}"


def whole(value: int | None) -> str:
    """Return the integer with its thousands apart, or a dash for none."""
    return "–" if value is None else f"{value:,}"


def code(text: str) -> str:
    """Return the text as code within a line of Markdown."""
    ticks = "`" * (_longest_run_of_backticks(text) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def quoted(text: str) -> str:
    """Return the text as code within a line, in quotes and with its line ends escaped."""
    return code(json.dumps(text, ensure_ascii=False))


def fence(text: str) -> str:
    """Return the text as a block of Markdown code that nothing in it can end.

    Control characters other than the tab and the line feed are shown by their Unicode pictures: a NUL would
    make the report a binary file to Git, and a carriage return would be changed by a checkout.
    """
    ticks = "`" * max(3, _longest_run_of_backticks(text) + 1)
    pictures = {c: 0x2400 + c for c in range(0x20) if chr(c) not in "\t\n"} | {0x7F: 0x2421}
    return f"{ticks}text\n{text.translate(pictures)}\n{ticks}"


def _longest_run_of_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
