"""From the scores of single runs to the figures of the comparison."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from charlm.errors import CharlmError

_MAX_LOSS = 700.0  # nats; exp of not much more is beyond any float
_DIGITS = 6  # far beyond the spread over seeds, and short enough for a diff to read well


def summarise(runs: Mapping[str, Sequence[Mapping[str, Any]]], counts: Mapping[str, Mapping[str, float]]) -> Any:
    """Return the content of metrics.json.

    Args:
        runs: for each model, one score per seed in the same order of seeds: train_loss and val_loss in nats per
            character, val_accuracy, parameters, train_tokens and val_tokens. The first model is the baseline.
        counts: the losses of the closed-form models in nats per character.

    Returns:
        "models": means and sample standard deviations over seeds (None for a single seed). "difference", when
        there are two models or more: the second minus the first, paired by seed. "counts", "tokens" and "seeds"
        as measured.
    """
    baseline, *others = runs
    any_score = runs[baseline][0]
    return {
        "models": {model: _of_model(model, scores) for model, scores in runs.items()},
        **({"difference": _difference(runs[baseline], runs[others[0]])} if others else {}),
        "counts": {name: {key: round(loss, _DIGITS) for key, loss in row.items()} for name, row in counts.items()},
        "tokens": {"train": any_score["train_tokens"], "val": any_score["val_tokens"]},
        "seeds": len(runs[baseline]),
    }


def _of_model(name: str, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    val_losses = [score["val_loss"] for score in scores]
    if not all(loss < _MAX_LOSS for loss in val_losses):
        raise CharlmError(
            f"the validation losses of '{name}' are {val_losses}, which no perplexity can tell; "
            "train it with a smaller learning rate"
        )
    return (
        {"parameters": scores[0]["parameters"]}
        | mean_and_sd("train_loss", [score["train_loss"] for score in scores])
        | mean_and_sd("val_loss", val_losses)
        | mean_and_sd("val_bits", [bits(loss) for loss in val_losses])
        | mean_and_sd("val_perplexity", [math.exp(loss) for loss in val_losses])
        | mean_and_sd("val_accuracy", [score["val_accuracy"] for score in scores])
    )


def _difference(baseline: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    nats = [b["val_loss"] - a["val_loss"] for a, b in zip(baseline, other, strict=True)]
    return mean_and_sd("val_loss", nats) | mean_and_sd("val_bits", [bits(value) for value in nats])


def mean_and_sd(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Return {name: mean, name_sd: sample standard deviation, None for a single value}, rounded."""
    sd = round(statistics.stdev(values), _DIGITS) if len(values) > 1 else None
    return {name: round(statistics.fmean(values), _DIGITS), f"{name}_sd": sd}


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / math.log(2)
