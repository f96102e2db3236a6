"""Exact losses: every target scored once, weighted by tokens, whatever the batches."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from charlm.tokens import Batch, Tokens, consecutive_windows

_LOGITS_AT_ONCE = 1 << 22  # bounds memory where V is large; changes no loss
_WINDOWS_CHANGED = 8  # in the check of causality
_CUTS = 64  # there, at most


@dataclass(frozen=True)
class Score:
    """What a model makes of some targets.

    Attributes:
        loss: mean cross-entropy in nats per token.
        accuracy: share of the targets that were the likeliest token.
        tokens: how many targets were scored.
    """

    loss: float
    accuracy: float
    tokens: int


@dataclass(frozen=True)
class Breakdown:
    """Sums of the losses in nats over the targets of a text, and how many there are.

    Attributes:
        block_sums, block_counts: by stretch of the text, each of a given length but the last.
        position_sums, position_counts: by place in the window, (block_size,).
        token_sums, token_counts: by the target itself, (V,).
    """

    block_sums: list[float]
    block_counts: list[int]
    position_sums: list[float]
    position_counts: list[int]
    token_sums: list[float]
    token_counts: list[int]


@torch.inference_mode()
def score(model: LanguageModel, batches: Iterable[Batch], device: torch.device) -> Score:
    """Score every target of `batches` once.

    The cross-entropy is computed in double precision and summed without rounding, so neither the size nor the
    order of the batches changes a digit that is shown.
    """
    sums: list[float] = []
    hits = tokens = 0
    for idx, targets in _within_memory(batches, model.vocab_size):
        losses, likeliest = _predict(model, idx.to(device), targets)
        sums.append(losses.sum().item())
        hits += int(likeliest.sum())
        tokens += targets.numel()
    return Score(math.fsum(sums) / tokens, hits / tokens, tokens)


@torch.inference_mode()
def break_down(model: LanguageModel, tokens: Tokens, block_length: int, device: torch.device) -> Breakdown:
    """Score the non-overlapping windows of tokens (N,), and sum by stretches of block_length, place and target."""
    T, V = model.block_size, model.vocab_size
    blocks = -(-(len(tokens) - 1) // block_length)  # rounded up
    sums = {name: np.zeros(size) for name, size in (("block", blocks), ("position", T), ("token", V))}
    counts = {name: np.zeros(len(part), dtype=np.int64) for name, part in sums.items()}
    scored = 0
    for idx, targets in _within_memory(consecutive_windows(tokens, T), V):  # in the order of the text
        losses = _predict(model, idx.to(device), targets)[0].flatten().numpy()
        places = np.arange(scored, scored + len(losses))
        keys = {"block": places // block_length, "position": places % T, "token": targets.flatten().numpy()}
        for name, key in keys.items():
            first = key.min()  # a batch adds to few of the blocks
            found, weighed = np.bincount(key - first), np.bincount(key - first, weights=losses)
            counts[name][first : first + len(found)] += found
            sums[name][first : first + len(found)] += weighed
        scored += len(losses)
    return Breakdown(
        block_sums=sums["block"].tolist(),
        block_counts=counts["block"].tolist(),
        position_sums=sums["position"].tolist(),
        position_counts=counts["position"].tolist(),
        token_sums=sums["token"].tolist(),
        token_counts=counts["token"].tolist(),
    )


def _within_memory(batches: Iterable[Batch], vocab_size: int) -> Iterator[Batch]:
    """Cut batches that would have too many logits."""
    for idx, targets in batches:
        windows = max(1, _LOGITS_AT_ONCE // (idx.shape[1] * vocab_size))
        yield from zip(torch.split(idx, windows), torch.split(targets, windows), strict=True)


def _predict(model: LanguageModel, idx: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the losses in nats, and whether each target was the likeliest token, of targets (B, S): both (B, S)."""
    S, V = targets.shape[1], model.vocab_size
    if model.context == 1 and targets.numel() > V:
        # Such a model is a table, and most of its rows are needed again and again.
        table = _double(model(torch.arange(V, device=idx.device)[:, None])[0][:, 0])  # (V, V)
        last = idx[:, -S:].cpu()
        return -F.log_softmax(table, dim=-1)[last, targets], _likeliest(table)[last] == targets
    logits = _double(model.next_logits(idx)[:, None] if S == 1 else model(idx)[0][:, -S:])  # (B, S, V)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return losses.view(targets.shape), _likeliest(logits) == targets


def _double(logits: Tensor) -> Tensor:
    return logits.cpu().double()  # not every device knows double


def _likeliest(logits: Tensor) -> Tensor:
    """Return the likeliest tokens (...,) of logits (..., V)."""
    return torch.from_numpy(logits.numpy().argmax(axis=-1))  # several times faster than torch's argmax


@torch.inference_mode()
def check_causality(model: LanguageModel, tokens: Tokens) -> None:
    """Change the future of real text at many places, and demand that no logit of the past changes by a bit.

    Args:
        model: on the CPU.
        tokens: real text (N,), of which the first windows are used.

    Raises:
        CharlmError: naming the first place whose logits know the future.
    """
    idx, _ = next(consecutive_windows(tokens[: _WINDOWS_CHANGED * model.block_size + 1], model.block_size))
    logits, _ = model(idx)  # (B, T, V)
    T = idx.shape[1]
    for cut in range(1, T, -(-T // _CUTS)):
        changed = idx.clone()
        changed[:, cut:] = (changed[:, cut:] + 1) % model.vocab_size
        if not torch.equal(model(changed)[0][:, :cut], logits[:, :cut]):
            raise CharlmError(
                f"{type(model).__name__} is not causal: changing the characters from position {cut} on changes its "
                "logits before it; mend the model's mask"
            )
