"""Token files, and the windows and batches cut out of them.

B batch, T time (block). A window of T predictions is T + 1 tokens long: the T inputs, and the T targets one
place further on.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from charlm.errors import CharlmError

Tokens = NDArray[np.unsignedinteger[Any]]
Batch = tuple[Tensor, Tensor]  # inputs (B, T) and the targets (B, S) of their last S places, S <= T, int64

_PLACES_PER_BATCH = 8192  # scored at a time, whatever the block_size; bounds memory, changes no loss


def load(path: Path) -> Tokens:
    """Map the tokens (N,) of a file into memory: pages are read when used, so a large file costs no memory."""
    try:
        tokens = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise CharlmError(f"{path} is no token file; run `dvc repro tokenize` to make it anew") from None
    return np.asarray(tokens)  # a plain view of the map: indexing np.memmap itself is several times slower


def batch(tokens: Tokens, seed: int, step: int, batch_size: int, block_size: int) -> Batch:
    """Return batch `step` of the run `seed`: windows that start at uniformly drawn places.

    A pure function of its arguments: there is no generator whose state could be shifted or lost.
    """
    draw = np.random.Generator(np.random.Philox(key=[seed, step]))
    # The last start leaves block_size + 1 tokens, so every window from the first to the last can be drawn.
    starts = draw.integers(0, len(tokens) - block_size, size=batch_size)
    return _gather(tokens, starts, block_size)


def consecutive_windows(tokens: Tokens, block_size: int) -> Iterator[Batch]:
    """Yield non-overlapping windows in which every token but the first is a target exactly once.

    The last batch is (1, R) with R <= block_size when the text does not divide.
    """
    full, ragged = divmod(len(tokens) - 1, block_size)
    yield from _batches(tokens, np.arange(full) * block_size, block_size)
    if ragged:
        yield _gather(tokens, np.array([full * block_size]), ragged)


def overlapping_windows(tokens: Tokens, block_size: int, context: int) -> Iterator[Batch]:
    """Yield windows whose targets have `context` tokens before them, or all there are; each is a target once.

    The first window scores all its places, a later one those that the window before it has not scored.
    """
    last = max(len(tokens) - 1 - block_size, 0)  # the start of the window that ends with the text
    yield _gather(tokens, np.array([0]), min(block_size, len(tokens) - 1))
    stride = block_size - context + 1
    starts = np.arange(stride, last + 1, stride)
    for idx, targets in _batches(tokens, starts, block_size):
        yield idx, targets[:, -stride:]
    if ragged := last % stride:
        idx, targets = _gather(tokens, np.array([last]), block_size)
        yield idx, targets[:, -ragged:]


def spread_windows(tokens: Tokens, block_size: int, count: int) -> Iterator[Batch]:
    """Yield `count` non-overlapping windows spread evenly over the text (all of them, if it has fewer)."""
    full = (len(tokens) - 1) // block_size
    count = min(count, full)
    yield from _batches(tokens, np.arange(count) * full // count * block_size, block_size)


def _batches(tokens: Tokens, starts: NDArray[np.int64], block_size: int) -> Iterator[Batch]:
    windows = max(1, _PLACES_PER_BATCH // block_size)
    for first in range(0, len(starts), windows):
        yield _gather(tokens, starts[first : first + windows], block_size)


def _gather(tokens: Tokens, starts: NDArray[np.int64], block_size: int) -> Batch:
    windows = tokens[starts[:, None] + np.arange(block_size + 1)]  # (B, T + 1)
    windows_as_int = torch.from_numpy(windows.astype(np.int64))
    return windows_as_int[:, :-1], windows_as_int[:, 1:]
