"""One loop that trains every model."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from charlm.errors import CharlmError
from charlm.evaluation import score
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens, batch, consecutive_windows, spread_windows

_STEPS_PER_BEAT = 50  # steps between two signs of life to the progress bar


@dataclass(frozen=True)
class Budget:
    """What every model gets alike: batch_size windows of block_size targets per step, for so many steps."""

    batch_size: int
    block_size: int
    steps: int
    eval_interval: int


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
    splits: Splits,
    budget: Budget,
    *,
    seed: int,
    learning_rate: float,
    device: torch.device,
    beat: Callable[[int], None] = lambda steps: None,
) -> Iterator[CurvePoint]:
    """Train `model` in place with AdamW and yield its losses at step 0, each interval and the last step.

    Args:
        model: on `device`.
        splits: what it is trained and measured on.
        budget: how much it is trained.
        seed: with the step's number it determines the step's batch.
        learning_rate: AdamW's; its other settings are torch's defaults.
        device: where it computes.
        beat: called with the number of steps done since it was last called.

    Raises:
        CharlmError: when the loss is no longer finite.
    """
    # Fused, because its square root is the processor's own: torch.sqrt is not the same on each of them.
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, fused=True)
    last_loss = math.nan
    for step in range(budget.steps + 1):
        if step % budget.eval_interval == 0 or step == budget.steps:
            yield measure(model, splits, step, device)
        if step == budget.steps:
            return
        idx, targets = batch(splits.train, seed, step, budget.batch_size, budget.block_size)
        _, loss = model(idx.to(device), targets.to(device))
        assert loss is not None  # there were targets
        loss_value = loss.item()
        if not math.isfinite(loss_value):
            raise CharlmError(
                f"the loss of seed {seed} is {loss_value} at step {step}, after {last_loss:.4f}; "
                f"the learning rate {learning_rate:g} is probably too high, try a tenth of it"
            )
        last_loss = loss_value
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if (step + 1) % _STEPS_PER_BEAT == 0 or step + 1 == budget.steps:
            beat((step % _STEPS_PER_BEAT) + 1)


def measure(model: LanguageModel, splits: Splits, step: int, device: torch.device) -> CurvePoint:
    """Score the whole validation split, and as many windows spread over train."""
    block_size = model.block_size
    model.eval()
    val = score(model, consecutive_windows(splits.val, block_size), device)
    train_windows = spread_windows(splits.train, block_size, count=max(1, val.tokens // block_size))
    point = CurvePoint(step, score(model, train_windows, device).loss, val.loss)
    model.train()
    return point
