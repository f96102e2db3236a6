"""The answer to the question, as far as the numbers give one."""

from dataclasses import dataclass
from typing import Literal

from charlm.results import Difference, Metrics

Outcome = Literal["lower", "higher", "unclear", "one seed"]

# Nats. A bigram table whose train loss ends nearer than this to the least possible is trained enough to be a fair
# baseline: less than a quarter of what a single head of attention gains on the default text.
TRAINED_ENOUGH = 0.02


@dataclass(frozen=True)
class Verdict:
    """How the validation loss of the second model compares with that of the first, the baseline."""

    outcome: Outcome
    model: str
    baseline: str
    difference: Difference


def verdict(metrics: Metrics) -> Verdict | None:
    """Compare the first two models; None where there is one only.

    One loss is called lower or higher only when both intervals of the difference, that over seeds and that over
    the text, leave out 0 on the same side.
    """
    if metrics.difference is None or len(metrics.models) == 1:
        return None
    baseline, model, *_ = metrics.models
    return Verdict(_outcome(metrics.difference), model, baseline, metrics.difference)


def _outcome(difference: Difference) -> Outcome:
    if difference.seeds_low is None or difference.seeds_high is None:
        return "one seed"
    if difference.text_low is None or difference.text_high is None:
        return "unclear"
    if max(difference.seeds_high, difference.text_high) < 0:
        return "lower"
    if min(difference.seeds_low, difference.text_low) > 0:
        return "higher"
    return "unclear"
