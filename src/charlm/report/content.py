"""What the report says, in no markup: the results, and what follows from them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from charlm import closed_form, gains
from charlm.details import Details, Provenance
from charlm.gains import Gain
from charlm.palette import Style, styles
from charlm.report.verdict import TRAINED_ENOUGH, Verdict, verdict
from charlm.results import Counts, Generated, Metrics, Samples, Trained

_NO_PARAMETERS = ("seed", "vocab_size")  # what a checkpoint knows of its run beyond params.yaml


@dataclass(frozen=True)
class Row:
    """A line of the table of results; None where there is no such number. Losses in nats per character."""

    name: str
    style: Style | None = None  # only a trained model has one
    parameters: int | None = None
    train_loss: float | None = None
    val_loss: float | None = None
    val_loss_sd: float | None = None
    val_loss_full: float | None = None
    val_loss_full_sd: float | None = None
    val_bits: float | None = None
    val_perplexity: float | None = None
    val_accuracy: float | None = None


@dataclass(frozen=True)
class Match:
    """How a model compares with counts: the longest context that it beats, and the next one, where there are such."""

    model: str
    loss: float
    beaten: int
    beaten_loss: float | None
    next_loss: float | None


@dataclass(frozen=True)
class Content:
    """All that the report says."""

    verdict: Verdict | None  # None: there is one model only
    rows: tuple[Row, ...]
    trained_enough: float
    matches: tuple[Match, ...]
    kinds: tuple[Gain, ...]  # empty where there is one model only
    foremost: tuple[Gain, ...]
    contexts: Mapping[int, float]  # losses of the Kneser-Ney counts, by the length of their context
    texts: tuple[tuple[float, tuple[Generated, ...]], ...]  # by temperature
    parameters: tuple[tuple[str, JsonValue], ...]
    styles: Mapping[str, Style]
    metrics: Metrics
    samples: Samples
    details: Details


def content(metrics: Metrics, samples: Samples, details: Details) -> Content:
    """Decide what the report says."""
    answer = verdict(metrics)
    compared = (details.characters, answer.baseline, answer.model) if answer else None
    style = styles(metrics.models)
    trained = (_trained_row(name, style[name], model) for name, model in metrics.models.items())
    return Content(
        verdict=answer,
        rows=(*trained, *(_closed_form_row(name, model) for name, model in metrics.counts.items())),
        trained_enough=TRAINED_ENOUGH,
        matches=tuple(_matches(metrics)),
        kinds=tuple(gains.by_kind(*compared)) if compared else (),
        foremost=tuple(gains.foremost(*compared)) if compared else (),
        contexts=closed_form.by_context(metrics),
        texts=tuple(
            (temperature, tuple(text for text in samples.texts if text.temperature == temperature))
            for temperature in sorted({text.temperature for text in samples.texts})
        ),
        parameters=tuple(_parameters(details.provenance)),
        styles=style,
        metrics=metrics,
        samples=samples,
        details=details,
    )


def _trained_row(name: str, style: Style, model: Trained) -> Row:
    found = model.model_dump()
    return Row(name, style, **{key: found[key] for key in found if key in Row.__dataclass_fields__})


def _closed_form_row(name: str, model: Counts) -> Row:
    loss = model.val_loss
    return Row(
        closed_form.label(name),
        train_loss=model.train_loss,
        val_loss=loss,
        val_loss_full=model.val_loss_full,
        val_bits=None if loss is None else loss / math.log(2),
        val_perplexity=None if loss is None else math.exp(loss),
    )


def _matches(metrics: Metrics) -> Iterator[Match]:
    counts = closed_form.by_context(metrics)
    for name, model in metrics.models.items():
        beaten = model.counts_matched
        if counts and beaten is not None and model.val_loss_full is not None:
            yield Match(name, model.val_loss_full, beaten, counts.get(beaten), counts.get(beaten + 1))


def _parameters(made: Provenance) -> Iterator[tuple[str, JsonValue]]:
    """Yield name and value as params.yaml has them."""
    shared = made.train.model_dump()
    yield from _named("train", shared)
    for model, settings in made.models.items():
        yield from _named(model, {key: settings[key] for key in settings if key not in {*shared, *_NO_PARAMETERS}})
    yield from _named("compute", made.compute)
    yield from _named("evaluate", made.evaluate)


def _named(section: str, values: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    return ((f"{section}.{key}", value) for key, value in values.items())
