"""One loop that trains every model."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from charlm.adamw import AdamW
from charlm.errors import CharlmError
from charlm.evaluation import score
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens, batch, consecutive_windows, spread_windows

_STEPS_PER_BEAT = 50  # steps between two signs of life to the progress bar


@dataclass(frozen=True)
class Budget:
    """What every model gets alike: batch_size windows of block_size targets per step, for so many steps.

    Attributes:
        schedule: of the learning rate: 'constant', or 'cosine', which falls to 0 by half a wave.
        warmup_steps: in which it first rises from 0.
    """

    batch_size: int
    block_size: int
    steps: int
    eval_interval: int
    schedule: str = "constant"
    warmup_steps: int = 0

    def learning_rate(self, peak: float, step: int) -> float:
        """Return the learning rate of `step`, whose highest value is `peak`."""
        if step < self.warmup_steps:
            return peak * (step + 1) / self.warmup_steps
        if self.schedule == "constant":
            return peak
        return peak * (1 + math.cos(math.pi * (step - self.warmup_steps) / (self.steps - self.warmup_steps))) / 2


@dataclass(frozen=True)
class CurvePoint:
    """The losses in nats per token after `step` optimiser steps.

    Attributes:
        train_loss: on a fixed set of windows spread over the train split, as large as the validation split.
        val_loss: on the whole validation split.
    """

    step: int
    train_loss: float
    val_loss: float


@dataclass(frozen=True)
class Splits:
    """The ids of the two parts of the text."""

    train: Tokens
    val: Tokens


def train(
    model: LanguageModel,
    optimizer: AdamW,
    splits: Splits,
    budget: Budget,
    *,
    learning_rate: float,
    seed: int,
    device: torch.device,
    after: int | None = None,
    beat: Callable[[int], None] = lambda steps: None,
) -> Iterator[CurvePoint]:
    """Train `model` in place and yield its losses at step 0, each interval and the last step.

    Args:
        model: on `device`.
        optimizer: of its parameters.
        splits: what it is trained and measured on.
        budget: how much it is trained.
        learning_rate: the highest, which the budget's schedule lowers.
        seed: with the step's number it determines the step's batch.
        device: where it computes.
        after: where a run carries on: the step of the last point that it yielded; None begins anew.
        beat: called with the number of steps done since it was last called.

    Raises:
        CharlmError: when the loss is no longer finite.
    """
    last_loss: float | None = None
    for step in range(after or 0, budget.steps + 1):
        if step != after and (step % budget.eval_interval == 0 or step == budget.steps):
            point = measure(model, splits, step, device)
            _stop_unless_finite(point.train_loss, seed, step, last_loss, learning_rate)
            _stop_unless_finite(point.val_loss, seed, step, last_loss, learning_rate)
            yield point
        if step == budget.steps:
            return
        idx, targets = batch(splits.train, seed, step, budget.batch_size, budget.block_size)
        loss = model.loss(idx.to(device), targets.to(device))
        loss_value = loss.item()
        _stop_unless_finite(loss_value, seed, step, last_loss, learning_rate)
        last_loss = loss_value
        optimizer.step(loss, budget.learning_rate(learning_rate, step))
        if (step + 1) % _STEPS_PER_BEAT == 0 or step + 1 == budget.steps:
            beat(min(step % _STEPS_PER_BEAT, step - (after or 0)) + 1)


def _stop_unless_finite(loss: float, seed: int, step: int, last_loss: float | None, learning_rate: float) -> None:
    if math.isfinite(loss):
        return
    before = "" if last_loss is None else f", after {last_loss:.4f}"
    raise CharlmError(
        f"the loss of seed {seed} is {loss} at step {step}{before}; "
        f"the learning rate {learning_rate:g} is probably too high, try a tenth of it"
    )


def measure(model: LanguageModel, splits: Splits, step: int, device: torch.device) -> CurvePoint:
    """Score the whole validation split, and as many windows spread over train."""
    block_size = model.block_size
    model.eval()
    val = score(model, consecutive_windows(splits.val, block_size), device)
    train_windows = spread_windows(splits.train, block_size, count=max(1, val.tokens // block_size))
    point = CurvePoint(step, score(model, train_windows, device).loss, val.loss)
    model.train()
    return point
