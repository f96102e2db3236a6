"""Text becomes ids, cut by position into train and validation, and written as token files.

A piece at a time, so a text may be larger than the memory. `charlm.token_files` reads the files.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from charlm.errors import CharlmError
from charlm.files import atomic
from charlm.vocabulary import Characters, Vocabulary


def survey(pieces: Iterable[str]) -> tuple[Vocabulary, int]:
    """Return the vocabulary of a text and its length in characters."""
    characters, length = Characters(), 0
    for piece in pieces:
        characters.add(piece)
        length += len(piece)
    return Vocabulary(characters.sorted()), length


def train_length(length: int, val_fraction: float, block_size: int) -> int:
    """Return how many of a text's `length` characters, its first, are for training: all but `val_fraction`.

    Raises:
        CharlmError: when a part is too short for one window of block_size predictions.
    """
    train = int(length * (1 - Fraction(str(val_fraction))))  # exact: 1 - 0.89 as a float loses a character
    for name, size in (("train", train), ("validation", length - train)):
        if size < block_size + 1:
            raise CharlmError(
                f"the {name} split has {size} of the text's {length} characters, and one window needs "
                f"{block_size + 1} (block_size + 1); take a longer text, a smaller train.block_size, "
                f"or another tokenize.val_fraction"
            )
    return train


def save_splits(
    train_path: Path, val_path: Path, pieces: Iterable[str], vocabulary: Vocabulary, *, train: int, length: int
) -> None:
    """Write the ids of a text of `length` characters: the first `train` of them to one file, the rest to the other.

    Raises:
        CharlmError: when it is not the text that `vocabulary` and `length` were found in.
    """
    done = 0
    with (
        _token_file(train_path, train, vocabulary.dtype) as train_file,
        _token_file(val_path, length - train, vocabulary.dtype) as val_file,
    ):
        for piece in pieces:
            ids = vocabulary.encode(piece)
            left = max(train - done, 0)
            train_file.write(ids[:left].data)
            val_file.write(ids[left:].data)
            done += len(ids)
        if done != length:
            raise CharlmError(f"the text changed while it was read: {length} characters, then {done}; run it again")


def save_tokens(path: Path, ids: NDArray[Any]) -> None:
    """Write ids (N,) as a .npy file, which carries its type and length."""
    with _token_file(path, len(ids), ids.dtype) as file:
        file.write(np.ascontiguousarray(ids).data)


@contextmanager
def _token_file(path: Path, length: int, dtype: "np.dtype[Any]") -> Iterator[IO[bytes]]:
    """Open a .npy file whose ids are yet to come."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        yield file
