"""The bigram model: the next character depends on the last one alone."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from charlm.models.contract import LanguageModel

_MANY = 1024  # tokens; above that a batch meets few of the table's rows


class BigramLanguageModel(LanguageModel):
    """A table V x V whose row i holds the logits of the token after token i.

    It reads inputs as long as any other model's, and of each position only the token there. Where V is large, the
    gradient holds only the rows that the batch has met, and `charlm.adamw` moves only these.
    """

    def __init__(self, *, vocab_size: int, block_size: int) -> None:
        super().__init__(vocab_size=vocab_size, block_size=block_size, context=1)
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size, sparse=vocab_size > _MANY)

    def logits(self, idx: Tensor) -> Tensor:
        """Return the table's rows (B, T, V) of idx (B, T)."""
        rows: Tensor = self.token_embedding_table(idx)
        return rows

    def loss(self, idx: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy, for which it is enough to know how often each pair of tokens occurs."""
        V = self.vocab_size
        if V > _MANY:
            return super().loss(idx, targets)
        pairs = torch.bincount((idx * V + targets).flatten(), minlength=V * V).view(V, V)
        log_probs = F.log_softmax(self.token_embedding_table.weight, dim=-1)  # (V, V)
        return -(log_probs * (pairs / idx.numel())).sum()
