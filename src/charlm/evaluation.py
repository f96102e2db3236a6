"""Exact losses: every target scored once, weighted by tokens, whatever the batches."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from charlm.tokens import Batch, Tokens, consecutive_windows


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


@torch.inference_mode()
def score(model: LanguageModel, batches: Iterable[Batch], device: torch.device) -> Score:
    """Score every target of `batches` once.

    The cross-entropy is computed in double precision and summed without rounding, so neither the size nor the
    order of the batches changes a digit that is shown.
    """
    losses: list[float] = []
    hits = tokens = 0
    for idx, targets in batches:
        logits = model(idx.to(device))[0].cpu().double()  # (B, T, V); not every device knows double precision
        losses.append(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").item())
        hits += int((logits.argmax(dim=-1) == targets).sum())
        tokens += targets.numel()
    return Score(math.fsum(losses) / tokens, hits / tokens, tokens)


@torch.inference_mode()
def check_causality(model: LanguageModel, tokens: Tokens, windows: int = 8) -> None:
    """Change the future of real text at every place, and demand that no logit of the past changes by a bit.

    Args:
        model: on the CPU.
        tokens: real text (N,); its first `windows` windows are used.
        windows: how many windows are changed at a time.

    Raises:
        CharlmError: naming the first place whose logits know the future.
    """
    idx, _ = next(consecutive_windows(tokens[: windows * model.block_size + 1], model.block_size))
    logits, _ = model(idx)  # (B, T, V)
    for cut in range(1, idx.shape[1]):
        changed = idx.clone()
        changed[:, cut:] = (changed[:, cut:] + 1) % model.vocab_size
        if not torch.equal(model(changed)[0][:, :cut], logits[:, :cut]):
            raise CharlmError(
                f"{type(model).__name__} is not causal: changing the characters from position {cut} on changes its "
                "logits before it; mend the model's mask"
            )
