"""Interpolated modified Kneser-Ney: the best that counting n-grams gives, for contexts of one length.

Chen and Goodman 1999, "An empirical study of smoothing techniques for language modeling", section 3.

Everything rests on a trie of the training text's n-grams. An n-gram is a node at level n; its key is its parent's
place at level n - 1 times V, plus its last token. Keys at a level are sorted, so a node's children lie side by
side, and looking up a text costs one binary search for each place and level.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from charlm.models.contract import LanguageModel

_NOWHERE = -1  # the node of what does not occur in the training text


@dataclass(frozen=True)
class Level:
    """The distinct n-grams of one length, M in all, sorted by key.

    Attributes:
        keys: (M,) parent's place times V, plus the last token.
        counts: (M,) how often each occurs.
        suffixes: (M,) the place, one level up, of what remains without the first token.
    """

    keys: Tensor
    counts: Tensor
    suffixes: Tensor


@dataclass(frozen=True)
class Table:
    """The part of the interpolation that one level adds, for contexts that are nodes of the level above.

    Attributes:
        keys: (M,) the level's own.
        tokens: (M,) the last token of each n-gram.
        shares: (M,) the discounted share of each n-gram among those of its context.
        backoff: (contexts,) the weight that is left for the shorter context.
        starts: (contexts + 1,) where each context's children begin.
    """

    keys: Tensor
    tokens: Tensor
    shares: Tensor
    backoff: Tensor
    starts: Tensor


class KneserNeyLanguageModel(LanguageModel):
    """Probabilities from the last `context` tokens, mixed with those from ever fewer, down to none.

    A place with fewer tokens before it in its window is predicted from those.
    """

    def __init__(self, unigram: Tensor, tables: Sequence[Table], *, block_size: int) -> None:
        super().__init__(vocab_size=len(unigram), block_size=block_size, context=len(tables))
        self.unigram = unigram  # (V,)
        self.tables = tables  # the n-th is for contexts of n tokens

    def logits(self, idx: Tensor) -> Tensor:
        """Return the log-probabilities (B, T, V) after idx (B, T), in double precision."""
        probabilities = self.unigram[None]  # (P, V): a row for each context that occurs in idx
        rows = torch.zeros_like(idx)  # (B, T): which of them is each place's
        nodes = idx  # (B, T): the one-token context that ends at each place
        for table in self.tables:
            # A place whose context did not occur in training keeps its row; distinct rows get distinct names.
            names, longer = torch.unique(torch.where(nodes == _NOWHERE, -1 - rows, nodes), return_inverse=True)
            shorter = torch.empty_like(names).scatter_(0, longer.flatten(), rows.flatten())  # the same from each place
            probabilities = _interpolate(table, names, probabilities[shorter])
            rows = longer
            nodes = _longer(table.keys, nodes, idx, self.vocab_size)
        return torch.log(probabilities)[rows]


def kneser_ney(
    tokens: Tensor, vocab_size: int, *, contexts: Sequence[int], block_size: int
) -> list[KneserNeyLanguageModel]:
    """Return the model of tokens (N,) for each length of context; orders and discounts come from tokens alone."""
    levels = _levels(tokens, vocab_size, longest=max(contexts) + 1)
    # All but the longest n-grams of a model are weighed by how many different tokens they follow.
    continued = [
        torch.bincount(longer.suffixes, minlength=len(level.keys)) for level, longer in itertools.pairwise(levels)
    ]
    lower = [_table(levels[n], continued[n], len(levels[n - 1].keys), vocab_size) for n in range(1, len(continued))]
    unigram = _unigram(continued[0])
    return [
        KneserNeyLanguageModel(
            unigram,
            [*lower[: n - 1], _table(levels[n], levels[n].counts, len(levels[n - 1].keys), vocab_size)],
            block_size=block_size,
        )
        for n in contexts
    ]


def _levels(tokens: Tensor, vocab_size: int, longest: int) -> list[Level]:
    """Return the levels of the trie for 1 to `longest` tokens; level 1 has all V tokens, whether they occur or not."""
    counts = torch.bincount(tokens, minlength=vocab_size)
    levels = [Level(torch.arange(vocab_size), counts, torch.zeros(vocab_size, dtype=torch.int64))]
    nodes = tokens  # of the n-gram that ends at each place, from the n-th place on
    for n in range(1, longest):
        found = nodes[:-1] * vocab_size + tokens[n:]
        keys, longer, counts = torch.unique(found, return_inverse=True, return_counts=True)
        suffixes = torch.empty_like(keys).scatter_(0, longer, nodes[1:])  # each occurrence writes the same
        levels.append(Level(keys, counts, suffixes))
        nodes = longer
    return levels


def _discounts(counts: Tensor) -> Tensor | None:
    """Return what is taken from a count of 0, 1, 2, and 3 or more: (4,), Chen and Goodman's equation 26.

    None where it cannot be estimated because some of the counts 1 to 4 do not occur.
    """
    n1, n2, n3, n4 = (int((counts == r).sum()) for r in (1, 2, 3, 4))
    if not (n1 and n2 and n3 and n4):
        return None
    y = n1 / (n1 + 2 * n2)
    return torch.tensor([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3], dtype=torch.float64)


def _discount(counts: Tensor, contexts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Take the discounts from counts (M,); return what remains (M,), and what each of `size` contexts lost (size,).

    From few counts an estimate may be negative, or more than there is. Then half of one is taken from each: every
    probability must stay above zero.
    """
    estimated = _discounts(counts)
    if estimated is not None:
        remaining, lost = _take(estimated, counts, contexts, size)
        if (remaining >= 0).all() and (lost[contexts[counts > 0]] > 0).all():
            return remaining, lost
    return _take(torch.tensor([0.0, 0.5, 0.5, 0.5], dtype=torch.float64), counts, contexts, size)


def _take(amounts: Tensor, counts: Tensor, contexts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    taken = amounts[counts.clamp(max=3)]
    return counts - taken, torch.bincount(contexts, weights=taken, minlength=size)


def _unigram(counts: Tensor) -> Tensor:
    """Return the probabilities (V,) from no context at all, mixed with the uniform distribution."""
    remaining, lost = _discount(counts, torch.zeros_like(counts), size=1)
    return (remaining + lost / len(counts)) / counts.sum()


def _table(level: Level, counts: Tensor, contexts: int, vocab_size: int) -> Table:
    parents = level.keys // vocab_size
    totals = torch.bincount(parents, weights=counts.double(), minlength=contexts)
    remaining, lost = _discount(counts, parents, contexts)
    return Table(
        keys=level.keys,
        tokens=level.keys % vocab_size,
        shares=remaining / totals[parents].clamp(min=1),  # 0 of 0: only at the very start of the text
        backoff=torch.where(totals > 0, lost / totals, 1.0),
        starts=torch.searchsorted(level.keys, torch.arange(contexts + 1) * vocab_size),
    )


def _interpolate(table: Table, contexts: Tensor, shorter: Tensor) -> Tensor:
    """Mix the probabilities from shorter contexts (P, V) with the shares that follow contexts (P,), if not negative."""
    known = contexts >= 0
    contexts = contexts.clamp(min=0)
    first = table.starts[contexts]
    children = torch.where(known, table.starts[contexts + 1] - first, 0)  # (P,) how many follow
    rows = torch.repeat_interleave(children)  # (sum of children,)
    places = torch.arange(len(rows)) - (children.cumsum(0) - children)[rows] + first[rows]
    mixed = shorter * torch.where(known, table.backoff[contexts], 1.0)[:, None]
    cells = rows * shorter.shape[1] + table.tokens[places]
    mixed.view(-1).scatter_add_(0, cells, table.shares[places])  # each cell at most once
    return mixed


def _longer(keys: Tensor, nodes: Tensor, idx: Tensor, vocab_size: int) -> Tensor:
    """Return the nodes (B, T) of contexts one token longer than nodes (B, T), ending at the same places."""
    before = torch.full_like(nodes, _NOWHERE)
    before[:, 1:] = nodes[:, :-1]
    wanted = before * vocab_size + idx
    places = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where((before != _NOWHERE) & (keys[places] == wanted), places, _NOWHERE)
