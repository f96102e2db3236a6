"""The learning rate follows its schedule at every step."""

import math
from itertools import pairwise
from typing import Any

import pytest
from torch import Tensor

from charlm.adamw import AdamW
from charlm.training import Budget, Splits
from tests.training.fitting import B, T, bigram, fit

ROOT_HALF = math.sqrt(1 / 2)


@pytest.mark.parametrize(
    ("schedule", "warmup_steps", "expected"),
    [
        ("constant", 0, [1, 1, 1, 1]),
        ("constant", 1, [1, 1, 1, 1]),
        ("constant", 4, [1 / 4, 2 / 4, 3 / 4, 1]),
        ("constant", 8, [1 / 8, 2 / 8, 3 / 8, 4 / 8]),  # a run that ends before it is warm
        ("constant", 2, [1 / 2, 1, 1, 1, 1, 1]),
        # The cosine of 0, 45, 90 and 135 degrees, lifted to 0 and above: the fifth would be 0.
        ("cosine", 0, [1, (1 + ROOT_HALF) / 2, 1 / 2, (1 - ROOT_HALF) / 2]),
        ("cosine", 2, [1 / 2, 1, 1, (1 + ROOT_HALF) / 2, 1 / 2, (1 - ROOT_HALF) / 2]),
        ("cosine", 4, [1 / 4, 2 / 4, 3 / 4, 1]),
        ("cosine", 8, [1 / 8, 2 / 8, 3 / 8, 4 / 8]),
        ("cosine", 0, [1]),
    ],
)
def test_the_optimizer_gets_the_schedules_learning_rate_at_every_step(
    splits: Splits, schedule: str, warmup_steps: int, expected: list[float]
) -> None:
    rates: list[float] = []

    class Noting(AdamW):
        """The optimizer of the program, which sees every learning rate."""

        def step(self, loss: Tensor, learning_rate: float) -> None:
            rates.append(learning_rate)
            super().step(loss, learning_rate)

    model = bigram()
    steps = len(expected)
    how: dict[str, Any] = {"steps": steps, "schedule": schedule, "warmup_steps": warmup_steps, "learning_rate": 0.2}
    for after in (None, steps // 2):  # from the beginning, and from the middle of a run
        rates.clear()
        list(fit(model, splits, optimizer=Noting(model.parameters()), after=after, **how))
        assert rates == pytest.approx([0.2 * factor for factor in expected[after:]], rel=1e-12)


@pytest.mark.parametrize("steps", [2, 3, 5000])
def test_a_cosine_begins_at_the_highest_rate_falls_at_each_step_and_stays_above_nothing(steps: int) -> None:
    budget = Budget(B, T, steps, 1, schedule="cosine")
    rates = [budget.learning_rate(0.01, step) for step in range(steps)]
    assert rates[0] == 0.01
    assert all(later < earlier for earlier, later in pairwise(rates))
    assert 0 < rates[-1] < 0.01 * 5 / steps**2 + 0.005 * (steps < 5)
