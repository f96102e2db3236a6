"""How sure a mean is: over seeds by Student's t, over a text by resampling its blocks."""

import math
import statistics
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
_DRAWN_AT_ONCE = 1 << 20  # blocks; bounds memory, changes no bit
_FEWEST_BLOCKS = 5  # fewer tell next to nothing of how blocks differ, and one would have no spread at all


def t_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the confidence interval of the mean of independent values; None for a single one, which has no spread."""
    if len(values) < 2:
        return None
    reach = t_quantile((1 + CONFIDENCE) / 2, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - reach, mean + reach


def block_bootstrap(
    sums: NDArray[np.float64], counts: NDArray[np.int64], *, resamples: int, seed: int
) -> tuple[float, float] | None:
    """Return the percentile interval of a text's mean when its blocks are drawn anew, with replacement.

    Neighbouring characters are alike in topic and speaker, so whole blocks are drawn and not characters (Kunsch
    1989, "The jackknife and the bootstrap for general stationary observations").

    Args:
        sums: (blocks,) of the quantity over each block; for a paired comparison, of the differences.
        counts: (blocks,) of characters in each.
        resamples: how many texts are drawn.
        seed: of the draws.

    Returns:
        The interval; None for a text of fewer than 5 blocks.
    """
    if len(sums) < _FEWEST_BLOCKS:
        return None
    draw = np.random.Generator(np.random.Philox(key=[seed, 0]))
    at_once = max(1, _DRAWN_AT_ONCE // len(sums))
    means = []
    for first in range(0, resamples, at_once):
        chosen = draw.integers(0, len(sums), size=(min(at_once, resamples - first), len(sums)))
        means.append(sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def t_quantile(probability: float, degrees: int) -> float:
    """Return where Student's distribution with so many degrees of freedom reaches `probability`, above 0.5."""
    low, high = 0.0, 1.0
    while _t_cdf(high, degrees) < probability:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _t_cdf(middle, degrees) < probability else (low, middle)
    return high


def _t_cdf(t: float, degrees: int) -> float:
    """Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4; t >= 0."""
    angle = math.atan(t / math.sqrt(degrees))
    odd = degrees % 2
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= k / (k + 1) * math.cos(angle) ** 2
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return (1 + inside) / 2
