"""Training is the plain loop, evaluated when promised, repeatable, and stopped when it goes wrong."""

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from charlm import checkpoint, params
from charlm.adamw import AdamW
from charlm.errors import CharlmError
from charlm.evaluation import score
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.settings import Train
from charlm.tokens import Tokens, consecutive_windows
from charlm.training import Budget, CurvePoint, Splits, train
from charlm.vocabulary import Vocabulary
from stages.train_bigram import Bigram
from tests.training.fitting import CPU, ROOT, B, T, V, attention, bigram, equal, fit, weights

# --- when it is evaluated, and what that measures ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "eval_interval", "expected"),
    [(10, 4, [0, 4, 8, 10]), (10, 5, [0, 5, 10]), (10, 100, [0, 10]), (3, 1, [0, 1, 2, 3]), (1, 1, [0, 1])],
)
def test_it_is_evaluated_at_step_0_each_interval_and_the_last_step(
    splits: Splits, steps: int, eval_interval: int, expected: list[int]
) -> None:
    points = fit(bigram(), splits, steps=steps, eval_interval=eval_interval)
    assert [point.step for point in points] == expected


def test_a_point_holds_the_losses_after_as_many_steps_as_it_says(splits: Splits) -> None:
    def loss_of(model: LanguageModel, tokens: Tokens, starts: list[int]) -> float:
        losses = []
        for start in starts:
            window = torch.tensor(tokens[start : start + T + 1].astype(int))
            logits = model(window[None, :-1])[0][0]
            losses += F.cross_entropy(logits, window[1:], reduction="none").tolist()
        return math.fsum(losses) / len(losses)

    model = attention()
    for point in fit(model, splits, steps=6, eval_interval=3):
        assert model.training  # that it was evaluated does not show
        # Validation: 99 targets, 16 windows and 3 targets more. Train: 16 of its 49 windows, evenly spread.
        assert point.val_loss == pytest.approx(loss_of(model, splits.val, list(range(0, 99, T))), rel=1e-6)
        train_starts = [i * 49 // 16 * T for i in range(16)]
        assert point.train_loss == pytest.approx(loss_of(model, splits.train, train_starts), rel=1e-6)
        assert equal(weights(model), weights(attention())) == (point.step == 0)


@pytest.mark.parametrize(
    ("steps", "after"),
    [(1, None), (49, None), (50, None), (120, None), (120, 100), (120, 70), (120, 119), (120, 120)],
)
def test_the_progress_bar_is_told_of_every_step(splits: Splits, steps: int, after: int | None) -> None:
    beats: list[int] = []
    list(fit(bigram(), splits, steps=steps, after=after, beat=beats.append))
    assert sum(beats) == steps - (after or 0)
    assert all(0 < beat <= 50 for beat in beats)


# --- what it computes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "same_bits"), [(attention, True), (bigram, False)])
def test_it_is_the_plain_loop(splits: Splits, make: Callable[[], LanguageModel], same_bits: bool) -> None:
    """With torch's own optimizer. The bigram's loss comes from counts of pairs, which rounds otherwise."""
    expected_model = make()
    optimizer = torch.optim.AdamW(expected_model.parameters(), lr=0.01, fused=True)
    expected_losses = []
    for step in range(30):
        starts = np.random.Generator(np.random.Philox(key=[5, step])).integers(0, 300 - T, size=B)
        idx = torch.stack([torch.tensor(splits.train[i : i + T].astype(int)) for i in starts])
        targets = torch.stack([torch.tensor(splits.train[i + 1 : i + T + 1].astype(int)) for i in starts])
        _, loss = expected_model(idx, targets)
        assert loss is not None
        expected_losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    class Noting(AdamW):
        """The optimizer of the program, which sees every loss."""

        def step(self, loss: Tensor, learning_rate: float) -> None:
            losses.append(loss.item())
            super().step(loss, learning_rate)

    model = make()
    losses: list[float] = []
    list(fit(model, splits, steps=30, eval_interval=7, seed=5, optimizer=Noting(model.parameters())))
    if same_bits:
        assert losses == expected_losses
        assert equal(weights(model), weights(expected_model))
    else:
        assert losses == pytest.approx(expected_losses, rel=1e-6)
        torch.testing.assert_close(weights(model), weights(expected_model), rtol=1e-5, atol=1e-6)
    assert not equal(weights(model), weights(make()))


def test_evaluating_more_often_changes_no_weight(splits: Splits) -> None:
    often, seldom = attention(), attention()
    list(fit(often, splits, eval_interval=1))
    list(fit(seldom, splits, eval_interval=10))
    assert equal(weights(often), weights(seldom))


@pytest.mark.parametrize(("schedule", "warmup_steps"), [("constant", 0), ("constant", 6), ("cosine", 0), ("cosine", 6)])
@pytest.mark.parametrize("after", [0, 4, 8, 10])
def test_a_run_that_carries_on_ends_as_one_that_was_never_stopped(
    splits: Splits, after: int, schedule: str, warmup_steps: int
) -> None:
    how: dict[str, Any] = {"eval_interval": 4, "schedule": schedule, "warmup_steps": warmup_steps}
    whole = attention()
    curve = list(fit(whole, splits, **how))

    def carried_on(*, with_its_optimizer: bool) -> tuple[list[CurvePoint], list[Tensor]]:
        model = attention()
        optimizer = AdamW(model.parameters())
        points = []
        for point in fit(model, splits, optimizer=optimizer, **how):
            points.append(point)
            if point.step == after:
                break
        optimizer = optimizer if with_its_optimizer else AdamW(model.parameters())
        points += fit(model, splits, optimizer=optimizer, after=after, **how)
        return points, weights(model)

    points, found = carried_on(with_its_optimizer=True)
    assert points == curve
    assert equal(found, weights(whole))
    _, found = carried_on(with_its_optimizer=False)
    assert equal(found, weights(whole)) == (after in {0, 10})  # else its state matters, or this would show nothing


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(splits: Splits, tmp_path: Path) -> None:
    def run(initial: int, batches: int, disturb: int = 0) -> bytes:
        model = attention(initial)
        torch.manual_seed(disturb)  # the global generator has no part in it after the weights are drawn
        list(fit(model, splits, seed=batches))
        checkpoint.save(tmp_path / "a", model, Vocabulary.of("abcde"))
        return (tmp_path / "a").read_bytes()

    first = run(1, 1)
    assert run(1, 1, disturb=9) == first
    assert run(1, 2) != first
    assert run(2, 1) != first


# --- when it goes wrong -----------------------------------------------------------------------------------------


class Failing(BigramLanguageModel):
    """A model whose loss is not finite from a given training step on."""

    def __init__(self, bad_from: int, bad: float) -> None:
        super().__init__(vocab_size=V, block_size=T)
        self.good_losses: list[float] = []
        self.bad_from, self.bad = bad_from, bad

    def loss(self, idx: Tensor, targets: Tensor) -> Tensor:
        loss = super().loss(idx, targets)
        if len(self.good_losses) >= self.bad_from:
            return loss * self.bad
        self.good_losses.append(loss.item())
        return loss


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_with_step_last_loss_and_remedy(splits: Splits, bad: float) -> None:
    model = Failing(5, bad)
    seen: list[CurvePoint] = []
    with pytest.raises(CharlmError) as caught:
        seen.extend(fit(model, splits, eval_interval=2, seed=8))  # extend keeps what came before an error
    assert [point.step for point in seen] == [0, 2, 4]
    assert str(caught.value) == (
        f"the loss of seed 8 is {bad} at step 5, after {model.good_losses[-1]:.4f}; "
        "the learning rate 0.01 is probably too high, try a tenth of it"
    )
    assert all(torch.isfinite(weight).all() for weight in weights(model))


def test_a_loss_that_is_not_finite_from_the_start_has_no_last_loss(splits: Splits) -> None:
    with pytest.raises(CharlmError, match="at step 0") as caught:
        list(fit(Failing(0, math.inf), splits))
    assert "nan" not in str(caught.value)


@pytest.mark.parametrize(("steps", "eval_interval"), [(5, 1), (5, 5), (1, 1)])
def test_no_point_of_the_curve_is_ever_not_finite(splits: Splits, steps: int, eval_interval: int) -> None:
    seen: list[CurvePoint] = []
    with pytest.raises(CharlmError, match="1e\\+30 is probably too high"):
        seen.extend(fit(attention(), splits, steps=steps, eval_interval=eval_interval, learning_rate=1e30))
    assert all(math.isfinite(number) for point in seen for number in asdict(point).values())


# --- the real thing ---------------------------------------------------------------------------------------------


def test_the_bigram_of_the_pipeline_comes_as_near_to_its_counts_as_it_should(corpus_text: str) -> None:
    """No bigram table can be below 2.4519 on train or 2.3735 on validation, and one trained enough is near."""
    ids = Vocabulary.of(corpus_text).encode(corpus_text)
    settings, own = params.load(Train, ROOT / "params.yaml"), params.load(Bigram, ROOT / "params.yaml")
    splits = Splits(ids[:1_003_854], ids[1_003_854:])
    torch.manual_seed(settings.seeds[0])
    model = BigramLanguageModel(vocab_size=65, block_size=settings.block_size)
    budget = Budget(settings.batch_size, settings.block_size, settings.steps, eval_interval=settings.steps)
    optimizer = AdamW(model.parameters())
    list(train(model, optimizer, splits, budget, learning_rate=own.learning_rate, seed=settings.seeds[0], device=CPU))

    train_loss, val_loss = (
        score(model, consecutive_windows(split, settings.block_size), CPU).loss for split in (splits.train, splits.val)
    )
    assert 2.4519 <= train_loss <= 2.47
    assert 2.475 <= val_loss <= 2.50
