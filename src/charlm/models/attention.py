"""A single head of causal self-attention: the next character depends on all the characters in the block."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from charlm.models.contract import LanguageModel
from charlm.products import matmul


class Head(nn.Module):
    """One head of causal self-attention (Vaswani et al. 2017, "Attention Is All You Need", equation 1).

    softmax(Q K' / sqrt(H) + mask) V, with Q, K and V linear in the input, without bias.
    """

    def __init__(self, n_embd: int, head_size: int, block_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.scale = head_size**-0.5
        mask = torch.full((block_size, block_size), float("-inf")).triu(diagonal=1)
        self.register_buffer("mask", mask, persistent=False)  # (T, T), 0 up to the diagonal and -inf in the future
        self.mask: Tensor

    def project(self, x: Tensor) -> Tensor:
        """Return query, key and value side by side (..., 3 H) of x (..., C)."""
        return matmul(x, torch.cat([self.query.weight, self.key.weight, self.value.weight]).mT)

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        """Return how much each position attends to each, (B, T, T) of query and key (B, T, H): rows sum to 1."""
        T = query.shape[1]
        scores = matmul(query * self.scale, key.mT, add=self.mask[:T, :T])  # (B, T, T)
        return F.softmax(scores, dim=-1)

    def attend(self, projected: Tensor) -> Tensor:
        """Return for each position the weighted sum (B, T, H) of the values up to it, given (B, T, 3 H)."""
        query, key, value = projected.chunk(3, dim=-1)  # each (B, T, H)
        return matmul(self.weights(query, key), value)  # (B, T, T) @ (B, T, H) -> (B, T, H)

    def forward(self, x: Tensor) -> Tensor:
        """Return what each position of x (B, T, C) gathers from those up to it: (B, T, H)."""
        return self.attend(self.project(x))


class AttentionLanguageModel(LanguageModel):
    """Token and position embedding, one `Head`, and a linear layer to the logits."""

    def __init__(self, *, vocab_size: int, block_size: int, n_embd: int, head_size: int) -> None:
        super().__init__(vocab_size=vocab_size, block_size=block_size, n_embd=n_embd, head_size=head_size)
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.head = Head(n_embd, head_size, block_size)
        self.lm_head = nn.Linear(head_size, vocab_size)

    def project(self, idx: Tensor) -> Tensor:
        """Return the head's query, key and value (B, T, 3 H) of idx (B, T).

        That is head.project(token embedding + position embedding). The projection is linear and the tables have
        fewer rows than a batch has places, so the tables are projected and then looked up.
        """
        tables = torch.cat([self.token_embedding_table.weight, self.position_embedding_table.weight])
        tokens, positions = torch.split(self.head.project(tables), [self.vocab_size, self.block_size])
        return F.embedding(idx, tokens) + positions[: idx.shape[1]]

    def attention(self, idx: Tensor) -> Tensor:
        """Return the head's weights (B, T, T) on idx (B, T)."""
        query, key, _ = self.project(idx).chunk(3, dim=-1)
        return self.head.weights(query, key)

    def next_logits(self, idx: Tensor) -> Tensor:
        """Return the logits (B, V) after the last token of idx (B, T), which may see all of them: no mask."""
        query, key, value = self.project(idx).chunk(3, dim=-1)  # each (B, T, H)
        scores = matmul(query[:, -1:] * self.head.scale, key.mT)  # (B, 1, T)
        gathered = matmul(F.softmax(scores, dim=-1), value)[:, 0]  # (B, H)
        return matmul(gathered, self.lm_head.weight.mT, add=self.lm_head.bias)

    def logits(self, idx: Tensor) -> Tensor:
        """Return the logits (B, T, V) of idx (B, T)."""
        gathered = self.head.attend(self.project(idx)).flatten(0, 1)  # (B * T, H)
        logits = matmul(gathered, self.lm_head.weight.mT, add=self.lm_head.bias)  # (B * T, V)
        return logits.view(*idx.shape, -1)
