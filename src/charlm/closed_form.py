"""The closed-form models of metrics.json: what they are called, and which stand where."""

import re

from charlm.results import Metrics

_LABELS = {
    "uniform": "uniform",
    "unigram": "unigram counts",
    "bigram": "bigram counts, add one",
    "bigram_ml": "bigram counts, best on train",
}
_KNESER_NEY = re.compile(r"kneser_ney_(\d+)")


def label(name: str) -> str:
    """Return what a reader knows the model by."""
    kneser_ney = _KNESER_NEY.fullmatch(name)
    return f"Kneser-Ney, context {kneser_ney[1]}" if kneser_ney else _LABELS.get(name, name)


def levels(metrics: Metrics) -> dict[str, float]:
    """Return label -> loss of those that see one character at most: on validation, or on train where that is all."""
    losses = {}
    for name, model in metrics.counts.items():
        loss = model.train_loss if model.val_loss is None else model.val_loss
        if loss is not None and not _KNESER_NEY.fullmatch(name):
            losses[label(name)] = loss
    return losses


def by_context(metrics: Metrics) -> dict[int, float]:
    """Return characters of context -> validation loss with a full context, for the Kneser-Ney counts, rising."""
    lengths = {name: _KNESER_NEY.fullmatch(name) for name in metrics.counts}
    losses = {int(match[1]): metrics.counts[name].val_loss_full for name, match in lengths.items() if match}
    return {length: loss for length, loss in sorted(losses.items()) if loss is not None}
