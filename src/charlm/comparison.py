"""From the scores of single runs to the figures of the comparison."""

import json
import math
import statistics
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from charlm.errors import CharlmError
from charlm.intervals import block_bootstrap, t_interval

Scores = Sequence[Mapping[str, Any]]  # one per seed, in the same order of seeds for every model

MAX_LOSS = 700.0  # nats; exp of not much more is beyond any float
_DIGITS = 6  # far beyond the spread over seeds, and short enough for a diff to read well


def summarise(
    runs: Mapping[str, Scores],
    counts: Mapping[str, Mapping[str, float]],
    *,
    block_length: int,
    resamples: int,
    bootstrap_seed: int,
) -> dict[str, Any]:
    """Return the content of metrics.json.

    Args:
        runs: for each model, what `charlm.one_evaluation.score_checkpoint` found for each seed. The first model is
            the baseline.
        counts: the losses of the closed-form models in nats per character.
        block_length: characters in a block of the breakdown by blocks, for the bootstrap.
        resamples: of the bootstrap.
        bootstrap_seed: of its draws.

    Returns:
        "models": means over seeds with sample standard deviations and t-intervals (None for a single seed), and the
        longest Kneser-Ney context whose loss the model's is below. "difference", when there are two models or more:
        the second minus the first, paired by seed, with its interval over seeds and over the text. "floor": how far
        the bigram's train losses lie above the least possible. "counts", "tokens", "seeds" and "block_size" as
        measured.
    """
    baseline, *others = runs
    any_score = runs[baseline][0]
    summary: dict[str, Any] = {"models": {model: _of_model(model, scores, counts) for model, scores in runs.items()}}
    if others:
        summary["difference"] = _difference(runs[baseline], runs[others[0]], resamples, bootstrap_seed) | {
            "block_length": block_length,
            "resamples": resamples,
        }
    if "bigram" in runs:
        gaps = [score["train_loss"] - counts["bigram_ml"]["train_loss"] for score in runs["bigram"]]
        summary["floor"] = {
            "bigram_train_gap": round(statistics.fmean(gaps), _DIGITS),
            "bigram_train_gap_min": round(min(gaps), _DIGITS),
        }
    return summary | {
        "counts": {name: _finite(row) for name, row in counts.items()},
        "tokens": {"train": any_score["train_tokens"], "val": any_score["val_tokens"]},
        "seeds": len(runs[baseline]),
        "block_size": len(any_score["breakdown"]["position_sums"]),
    }


def _finite(row: Mapping[str, float]) -> dict[str, float]:
    """Round the losses, and leave out an infinite one: of counts, where validation holds what train lacks."""
    return {key: round(loss, _DIGITS) for key, loss in row.items() if math.isfinite(loss)}


def by_position(runs: Mapping[str, Scores]) -> list[list[Any]]:
    """Return rows of model, position and the mean loss there, over seeds and windows."""
    return [
        [model, position, f"{loss:.{_DIGITS}f}"]
        for model, scores in runs.items()
        for position, loss, _ in _means(scores, "position")
    ]


def by_character(runs: Mapping[str, Scores], characters: Sequence[str]) -> list[list[Any]]:
    """Return rows of model, character (as JSON), its class, how often it is a target, and the mean loss over seeds."""
    return [
        [
            model,
            json.dumps(characters[token], ensure_ascii=False),
            character_class(characters[token]),
            count,
            f"{loss:.{_DIGITS}f}",
        ]
        for model, scores in runs.items()
        for token, loss, count in _means(scores, "token")
    ]


_CLASSES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("newline", lambda character: character in "\n\r\v\f\x85\u2028\u2029"),
    ("space", str.isspace),
    ("lower case", str.islower),
    ("upper case", str.isupper),
    ("letter", str.isalpha),
    ("digit", str.isdigit),
    ("punctuation", lambda character: unicodedata.category(character)[0] in "PS"),
)


def character_class(character: str) -> str:
    """Return the kind of character, such as "lower case"; "letter" is one that has no case."""
    return next((name for name, belongs in _CLASSES if belongs(character)), "other")


def mean_and_sd(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Return {name: mean, name_sd: sample standard deviation, None for a single value}, rounded."""
    sd = round(statistics.stdev(values), _DIGITS) if len(values) > 1 else None
    return {name: round(statistics.fmean(values), _DIGITS), f"{name}_sd": sd}


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / math.log(2)


def _of_model(name: str, scores: Scores, counts: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    val_losses = [score["val_loss"] for score in scores]
    if not all(loss < MAX_LOSS for loss in val_losses):
        raise CharlmError(
            f"the validation losses of '{name}' are {val_losses}, which no perplexity can tell; "
            "train it with a smaller learning rate"
        )
    full_losses = [score["val_loss_full"] for score in scores]
    return (
        {"parameters": scores[0]["parameters"]}
        | mean_and_sd("train_loss", [score["train_loss"] for score in scores])
        | mean_and_sd("val_loss", val_losses)
        | _interval("val_loss", t_interval(val_losses))
        | mean_and_sd("val_loss_full", full_losses)
        | mean_and_sd("val_bits", [bits(loss) for loss in val_losses])
        | mean_and_sd("val_perplexity", [math.exp(loss) for loss in val_losses])
        | mean_and_sd("val_accuracy", [score["val_accuracy"] for score in scores])
        | {"counts_matched": _counts_matched(statistics.fmean(full_losses), counts)}
    )


def _counts_matched(loss: float, counts: Mapping[str, Mapping[str, float]]) -> int:
    """Return the longest context up to which every Kneser-Ney model is worse, 0 when the shortest is better."""
    context = 0
    while loss < counts.get(f"kneser_ney_{context + 1}", {}).get("val_loss_full", -math.inf):
        context += 1
    return context


def _difference(baseline: Scores, other: Scores, resamples: int, seed: int) -> dict[str, Any]:
    nats = _paired(baseline, other, "val_loss")
    return (
        mean_and_sd("val_loss", nats)
        | _interval("seeds", t_interval(nats))
        | _interval("text", _text_interval(baseline, other, resamples, seed))
        | mean_and_sd("val_bits", [bits(value) for value in nats])
        | mean_and_sd("val_loss_full", _paired(baseline, other, "val_loss_full"))
    )


def _paired(baseline: Scores, other: Scores, key: str) -> list[float]:
    return [b[key] - a[key] for a, b in zip(baseline, other, strict=True)]


def _interval(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (round(end, _DIGITS) for end in interval)
    return {f"{name}_low": low, f"{name}_high": high}


def _text_interval(baseline: Scores, other: Scores, resamples: int, seed: int) -> tuple[float, float] | None:
    """Return the interval of the mean difference over texts like this one, with the seeds as they are."""
    baseline_sums, other_sums = (
        np.array([score["breakdown"]["block_sums"] for score in scores]).mean(axis=0) for scores in (baseline, other)
    )
    counts = np.array(baseline[0]["breakdown"]["block_counts"])
    return block_bootstrap(other_sums - baseline_sums, counts, resamples=resamples, seed=seed)


def _means(scores: Scores, part: str) -> Iterator[tuple[int, float, int]]:
    """Yield key, mean loss over its targets and seeds, and number of targets, of a part of the breakdown."""
    sums = np.array([score["breakdown"][f"{part}_sums"] for score in scores]).mean(axis=0)
    counts = scores[0]["breakdown"][f"{part}_counts"]
    for key, (total, count) in enumerate(zip(sums, counts, strict=True)):
        if count:
            yield key, float(total) / count, count
