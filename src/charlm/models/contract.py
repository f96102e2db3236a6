"""What every language model of this project answers, so that one loop trains them and one score serves all.

Shapes, everywhere in `charlm.models`: B batch, T time (at most block_size), C channels (n_embd), H head_size,
V vocabulary.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from charlm.errors import CharlmError


class LanguageModel(nn.Module, ABC):
    """Predicts each next token from the tokens so far.

    Attributes:
        vocab_size: V, the number of different tokens.
        block_size: the longest input in tokens.
        context: how many of the last tokens a prediction depends on, at most block_size.
        shape: the arguments that build a model of the same shape again.
    """

    def __init__(self, *, vocab_size: int, block_size: int, context: int | None = None, **rest: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.block_size = block_size
        self.context = context or block_size
        self.shape: dict[str, int] = {"vocab_size": vocab_size, "block_size": block_size, **rest}

    @abstractmethod
    def logits(self, idx: Tensor) -> Tensor:
        """Return the logits (B, T, V) of the token after each of idx (B, T)."""

    def next_logits(self, idx: Tensor) -> Tensor:
        """Return the logits (B, V) of the token after the last of idx (B, T): those of `logits`, up to rounding."""
        return self.logits(idx)[:, -1]

    def attention(self, idx: Tensor) -> Tensor | None:
        """Return how much each place of idx (B, T) looks at each, (B, T, T); None for a model without attention."""
        return None

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the logits (B, T, V) and, given targets (B, T), their mean cross-entropy in nats per token.

        Raises:
            CharlmError: when the input is longer than block_size.
        """
        T = idx.shape[1]
        if self.block_size < T:
            raise CharlmError(
                f"the input has {T} tokens and block_size is {self.block_size}; pass the last {self.block_size} of them"
            )
        logits = self.logits(idx)  # (B, T, V)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def loss(self, idx: Tensor, targets: Tensor) -> Tensor:
        """Return the loss that `forward` returns; a model that can have it without all the logits says how."""
        _, loss = self(idx, targets)
        assert loss is not None  # there are targets
        return loss

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        """Typed as `forward`."""
        result: tuple[Tensor, Tensor | None] = super().__call__(*args, **kwargs)
        return result
