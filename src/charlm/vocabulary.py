"""Characters <-> ids."""

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from charlm.errors import CharlmError
from charlm.files import write_json

_SHOWN = 200  # characters named in an error


class Vocabulary:
    """The distinct characters of a text in code point order; a character's id is its place there.

    Attributes:
        characters: the V characters.
        dtype: the smallest unsigned type that holds the ids 0..V-1.
    """

    def __init__(self, characters: Sequence[str]) -> None:
        """Raises CharlmError unless `characters` are single, distinct and sorted."""
        if not characters:
            raise CharlmError("a vocabulary needs at least one character; the text is empty")
        codes = [ord(character) for character in characters if len(character) == 1]
        if len(codes) < len(characters) or any(a >= b for a, b in itertools.pairwise(codes)):
            raise CharlmError("a vocabulary wants single characters, each once, in code point order")
        self.characters = tuple(characters)
        self.dtype: np.dtype[np.unsignedinteger[Any]] = np.min_scalar_type(len(codes) - 1)
        self._codes = np.array(codes, dtype=np.uint32)
        self._id_of_code = np.full(codes[-1] + 1, -1, dtype=np.int32)
        self._id_of_code[self._codes] = np.arange(len(codes))

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the vocabulary of `text`."""
        return cls(sorted(set(text)))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(content["characters"])
        except (ValueError, KeyError, TypeError, CharlmError):
            raise CharlmError(f"{path} is no vocabulary; run `dvc repro tokenize` to make it anew") from None

    def save(self, path: Path) -> None:
        """Write the characters as JSON."""
        write_json(path, {"characters": self.characters})

    def __len__(self) -> int:
        return len(self.characters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.characters == other.characters

    def __hash__(self) -> int:
        return hash(self.characters)

    def encode(self, text: str) -> NDArray[np.unsignedinteger[Any]]:
        """Return the ids (len(text),) of the characters of `text`.

        Raises:
            CharlmError: naming the first character that is not in the vocabulary, and its place.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        ids = self._id_of_code[np.minimum(codes, len(self._id_of_code) - 1)]
        unknown = np.flatnonzero((ids < 0) | (codes >= len(self._id_of_code)))
        if unknown.size:
            place = int(unknown[0])
            raise CharlmError(
                f"character {text[place]!r} at position {place} is not among the {len(self)} of the vocabulary; "
                f"use only {''.join(self.characters[:_SHOWN])!r}{' and others' if len(self) > _SHOWN else ''}"
            )
        encoded: NDArray[np.unsignedinteger[Any]] = ids.astype(self.dtype)
        return encoded

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`."""
        return "".join([self.characters[i] for i in ids])
