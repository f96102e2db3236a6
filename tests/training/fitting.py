"""Small models in training."""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from charlm.adamw import AdamW
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.training import Budget, CurvePoint, Splits, train

CPU = torch.device("cpu")
V, B, T = 5, 4, 6
ROOT = Path(__file__).resolve().parent.parent.parent


def attention(seed: int = 1) -> AttentionLanguageModel:
    torch.manual_seed(seed)
    return AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=4, head_size=3)


def bigram(seed: int = 1) -> BigramLanguageModel:
    torch.manual_seed(seed)
    return BigramLanguageModel(vocab_size=V, block_size=T)


def fit(
    model: LanguageModel,
    splits: Splits,
    *,
    steps: int = 10,
    eval_interval: int = 100,
    seed: int = 1,
    learning_rate: float = 0.01,
    optimizer: AdamW | None = None,
    after: int | None = None,
    beat: Callable[[int], None] = lambda steps: None,
    schedule: str = "constant",
    warmup_steps: int = 0,
) -> Iterator[CurvePoint]:
    return train(
        model,
        optimizer or AdamW(model.parameters()),
        splits,
        Budget(B, T, steps, eval_interval, schedule, warmup_steps),
        learning_rate=learning_rate,
        seed=seed,
        device=CPU,
        after=after,
        beat=beat,
    )


def weights(model: LanguageModel) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def equal(some: list[Tensor], others: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))
