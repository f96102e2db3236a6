"""Tokens as the models see them: the windows and batches cut out of a token file.

B batch, T time (block). A window of T predictions is T + 1 tokens long: the T inputs, and the T targets one
place further on.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from charlm.token_files import Tokens, load

__all__ = [
    "Batch",
    "Tokens",
    "batch",
    "consecutive_windows",
    "load",
    "overlapping_windows",
    "spread_windows",
]

Batch = tuple[Tensor, Tensor]  # inputs (B, T) and the targets (B, S) of their last S places, S <= T, int64

_PLACES_PER_BATCH = 8192  # scored at a time, whatever the block_size; bounds memory, changes no loss

_PHILOX = np.random.Philox(key=[0, 0])
_FRESH = _PHILOX.state  # a copy, and so unchanged by what is drawn
_GENERATOR = np.random.Generator(_PHILOX)


def batch(tokens: Tokens, seed: int, step: int, batch_size: int, block_size: int) -> Batch:
    """Return batch `step` of the run `seed`: windows that start at uniformly drawn places.

    A pure function of its arguments: there is no generator whose state could be shifted or lost.
    """
    # The last start leaves block_size + 1 tokens, so every window from the first to the last can be drawn.
    starts = _draw(seed, step).integers(0, len(tokens) - block_size, size=batch_size)
    return _gather(tokens, starts, block_size)


def consecutive_windows(tokens: Tokens, block_size: int) -> Iterator[Batch]:
    """Yield non-overlapping windows in which every token but the first is a target exactly once.

    The last batch is (1, R) with R <= block_size when the text does not divide.
    """
    full, ragged = divmod(len(tokens) - 1, block_size)
    yield from _batches(tokens, range(0, full * block_size, block_size), block_size)
    if ragged:
        yield _gather(tokens, np.array([full * block_size]), ragged)


def overlapping_windows(tokens: Tokens, block_size: int, context: int) -> Iterator[Batch]:
    """Yield windows whose targets have `context` tokens before them, or all there are; each is a target once.

    The first window scores all its places, a later one those that the window before it has not scored.
    """
    last = max(len(tokens) - 1 - block_size, 0)  # the start of the window that ends with the text
    yield _gather(tokens, np.array([0]), min(block_size, len(tokens) - 1))
    stride = block_size - context + 1
    for idx, targets in _batches(tokens, range(stride, last + 1, stride), block_size):
        yield idx, targets[:, -stride:]
    if ragged := last % stride:
        idx, targets = _gather(tokens, np.array([last]), block_size)
        yield idx, targets[:, -ragged:]


def spread_windows(tokens: Tokens, block_size: int, count: int) -> Iterator[Batch]:
    """Yield `count` non-overlapping windows spread evenly over the text (all of them, if it has fewer)."""
    full = (len(tokens) - 1) // block_size
    count = min(count, full)
    for numbers in _portions(range(count), block_size):
        yield _gather(tokens, numbers * full // count * block_size, block_size)


def _draw(seed: int, step: int) -> np.random.Generator:
    """Return Generator(Philox(key=[seed, step])) as if it were new.

    It is always the same one, with its key changed: making one, which asks the system for randomness that it then
    does not use, takes as long as the rest of a batch.
    """
    _FRESH["state"]["key"][:] = seed, step
    _PHILOX.state = _FRESH
    return _GENERATOR


def _batches(tokens: Tokens, starts: range, block_size: int) -> Iterator[Batch]:
    for portion in _portions(starts, block_size):
        yield _gather(tokens, portion, block_size)


def _portions(numbers: range, block_size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of windows, as many at a time as fit: all at once they may be more than the memory holds."""
    windows = max(1, _PLACES_PER_BATCH // block_size)
    for first in range(0, len(numbers), windows):
        portion = numbers[first : first + windows]
        yield np.arange(portion.start, portion.stop, portion.step)


def _gather(tokens: Tokens, starts: NDArray[np.int64], block_size: int) -> Batch:
    windows = tokens[starts[:, None] + np.arange(block_size + 1)]  # (B, T + 1)
    windows_as_int = torch.from_numpy(windows.astype(np.int64))
    return windows_as_int[:, :-1], windows_as_int[:, 1:]
