"""Closed-form models: what counting alone gives, so that an under-trained model shows at once."""

import torch
from torch import Tensor

from charlm.frequencies import count, count_pairs
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens


class TableLanguageModel(LanguageModel):
    """Fixed log-probabilities (V, V) of the next token, one row for each last token."""

    def __init__(self, log_probabilities: Tensor, *, block_size: int) -> None:
        super().__init__(vocab_size=len(log_probabilities), block_size=block_size, context=1)
        self.log_probabilities: Tensor
        self.register_buffer("log_probabilities", log_probabilities)

    def logits(self, idx: Tensor) -> Tensor:
        """Return the table's rows (B, T, V) of idx (B, T); log-probabilities are logits that need no softmax."""
        return self.log_probabilities[idx]


def uniform(vocab_size: int, *, block_size: int) -> TableLanguageModel:
    """Return the model that knows only how many tokens there are: ln V nats per token, on any text."""
    counts = torch.ones(1, vocab_size, dtype=torch.float64)
    return TableLanguageModel(_log_shares_(counts).expand(vocab_size, -1), block_size=block_size)


def unigram(tokens: Tokens, vocab_size: int, *, block_size: int) -> TableLanguageModel:
    """Return the maximum-likelihood model of tokens (N,) that looks at no earlier token."""
    counts = torch.from_numpy(count(tokens, vocab_size)).double()[None]  # (1, V)
    return TableLanguageModel(_log_shares_(counts).expand(vocab_size, -1), block_size=block_size)


def bigram(tokens: Tokens, vocab_size: int, *, block_size: int, added: float) -> TableLanguageModel:
    """Return the model of tokens (N,) that counts pairs, with `added` put to each pair's count.

    With 0 it is the maximum-likelihood table: no other has a lower loss on `tokens`, and pairs that do not
    occur there have an infinite one. With 1 it is Laplace's add-one estimate.
    """
    counts = torch.from_numpy(count_pairs(tokens, vocab_size)).double()  # (V, V)
    counts += added
    return TableLanguageModel(_log_shares_(counts), block_size=block_size)


def _log_shares_(counts: Tensor) -> Tensor:
    """Return the log (N, V) of each row's shares, in place; a row of zeros, a token never continued, becomes uniform.

    In place, so that to count pairs takes less memory than to train on them, whatever V is.
    """
    counts[counts.sum(dim=1) == 0] = 1.0
    return counts.div_(counts.sum(dim=1, keepdim=True)).log_()
