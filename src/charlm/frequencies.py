"""How often tokens and pairs of tokens occur, counted in pieces: memory does not grow with the text.

N tokens, V vocabulary.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 1 << 20


def count(tokens: NDArray[np.unsignedinteger[Any]], vocab_size: int) -> NDArray[np.int64]:
    """Return how often each token occurs in tokens (N,): (V,)."""
    counts = np.zeros(vocab_size, dtype=np.int64)
    for first in range(0, len(tokens), _AT_ONCE):
        counts += np.bincount(tokens[first : first + _AT_ONCE], minlength=vocab_size)
    return counts


def count_pairs(tokens: NDArray[np.unsignedinteger[Any]], vocab_size: int) -> NDArray[np.int64]:
    """Return how often each token follows each in tokens (N,): (V, V), the row is the first of a pair."""
    counts = np.zeros(vocab_size**2, dtype=np.int64)
    for first in range(0, len(tokens) - 1, _AT_ONCE):
        piece = tokens[first : first + _AT_ONCE + 1].astype(np.int64)
        counts += np.bincount(piece[:-1] * vocab_size + piece[1:], minlength=len(counts))
    return counts.reshape(vocab_size, vocab_size)
