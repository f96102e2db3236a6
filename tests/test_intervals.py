"""Intervals against tables, a plain loop, and how often they hold what they should."""

import statistics

import numpy as np
import pytest
from numpy.typing import NDArray

from charlm import intervals
from charlm.intervals import block_bootstrap, t_interval, t_quantile


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (10, 2.228), (30, 2.042), (120, 1.980)],
)
def test_quantiles_are_those_of_the_printed_table(degrees: int, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, abs=5e-4)


def test_the_quantile_tends_to_that_of_the_normal_distribution() -> None:
    normal = statistics.NormalDist().inv_cdf(0.975)
    assert t_quantile(0.975, 10_000) == pytest.approx(normal, abs=5e-4)


def test_the_interval_by_hand() -> None:
    # Mean 3, sample standard deviation sqrt(2.5), so 3 -+ 2.7764 * sqrt(2.5 / 5).
    assert t_interval([1, 2, 3, 4, 5]) == pytest.approx((3 - 1.96324, 3 + 1.96324), abs=1e-4)


def test_a_single_value_has_no_interval() -> None:
    assert t_interval([1.0]) is None


def test_the_interval_holds_the_true_mean_as_often_as_it_says() -> None:
    draw = np.random.default_rng(1)
    intervals = [t_interval(draw.normal(7, 2, size=5).tolist()) for _ in range(2000)]
    holding = sum(found[0] < 7 < found[1] for found in intervals if found)
    assert abs(holding / 2000 - 0.95) < 0.02  # four standard errors


def interval(sums: NDArray[np.float64], counts: NDArray[np.int64], *, resamples: int, seed: int) -> tuple[float, float]:
    found = block_bootstrap(sums, counts, resamples=resamples, seed=seed)
    assert found is not None
    return found


def test_the_bootstrap_is_the_plain_loop() -> None:
    sums, counts = np.array([3.0, -1.0, 4.0, 2.0, 1.5]), np.array([10, 10, 10, 10, 4])
    chosen = np.random.Generator(np.random.Philox(key=[9, 0])).integers(0, 5, size=(500, 5))
    means = [sum(sums[block] for block in text) / sum(counts[block] for block in text) for text in chosen.tolist()]
    cuts = statistics.quantiles(means, n=40, method="inclusive")  # every 2.5 %
    found = block_bootstrap(sums, counts, resamples=500, seed=9)
    assert found == pytest.approx((cuts[0], cuts[-1]), rel=1e-12)


def test_the_bootstrap_is_the_same_each_time_and_another_for_another_seed() -> None:
    sums, counts = np.arange(50.0), np.full(50, 7)
    assert block_bootstrap(sums, counts, resamples=300, seed=1) == block_bootstrap(sums, counts, resamples=300, seed=1)
    assert block_bootstrap(sums, counts, resamples=300, seed=1) != block_bootstrap(sums, counts, resamples=300, seed=2)


@pytest.mark.parametrize("at_once", [1, 7, 50, 120, 10_000])
def test_the_bootstrap_is_the_same_however_many_texts_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    sums, counts = np.arange(50.0), np.full(50, 7)
    whole = block_bootstrap(sums, counts, resamples=101, seed=1)
    monkeypatch.setattr(intervals, "_DRAWN_AT_ONCE", at_once)
    assert block_bootstrap(sums, counts, resamples=101, seed=1) == whole


def test_its_width_is_that_of_the_standard_error_of_blocks() -> None:
    sums, counts = np.random.default_rng(3).normal(0, 5, size=400), np.full(400, 10)
    low, high = interval(sums, counts, resamples=4000, seed=1)
    standard_error = float(sums.std(ddof=1)) / 10 / 400**0.5
    assert high - low == pytest.approx(2 * 1.96 * standard_error, rel=0.06)
    assert low < sums.mean() / 10 < high


def test_the_same_difference_everywhere_is_certain() -> None:
    sums, counts = np.array([2.0, 2.0, 2.0, 2.0, 1.0]), np.array([4, 4, 4, 4, 2])
    assert interval(sums, counts, resamples=100, seed=1) == (0.5, 0.5)


def test_a_text_of_a_few_blocks_has_no_interval() -> None:
    assert block_bootstrap(np.full(4, 2.0), np.full(4, 4), resamples=100, seed=1) is None
