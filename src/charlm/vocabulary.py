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
_CODES = 0x110000  # Unicode's


class Characters:
    """The distinct characters of a text that comes in pieces."""

    def __init__(self) -> None:
        self._ascii = b""
        self._seen = np.zeros(_CODES, dtype=bool)

    def add(self, text: str) -> None:
        """Take note of the characters of `text`."""
        if text.isascii():  # where deleting what is known from the bytes is much faster than looking each up
            self._ascii += bytes(set(text.encode("ascii").translate(None, delete=self._ascii)))
        elif not self._seen.take(codes := _codes(text), mode="clip").all():
            self._seen[codes] = True

    def sorted(self) -> list[str]:
        """Return them in code point order."""
        seen = self._seen.copy()
        seen[list(self._ascii)] = True
        return [chr(code) for code in np.flatnonzero(seen)]


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
        # A character that is not in the vocabulary has the id V, which is none; as a byte 255 at most, which is no
        # ASCII character's.
        self._id_of_code = np.full(_CODES, len(codes), dtype=np.min_scalar_type(len(codes)))
        self._id_of_code[codes] = np.arange(len(codes))
        self._no_byte = min(len(codes), 255)
        self._byte_of_ascii = np.minimum(self._id_of_code[:128], 255).astype(np.uint8).tobytes().ljust(256, b"\xff")

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the vocabulary of `text`."""
        characters = Characters()
        characters.add(text)
        return cls(characters.sorted())

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
        if text.isascii() and self.dtype == np.uint8:  # bytes to bytes, which is many times faster
            encoded = text.encode("ascii").translate(self._byte_of_ascii)
            if self._no_byte not in encoded:
                return np.frombuffer(encoded, dtype=np.uint8)
        ids = self._id_of_code.take(_codes(text), mode="clip")  # nothing to clip, and faster than to look for errors
        if (unknown := ids == len(self)).any():
            place = int(np.argmax(unknown))
            raise CharlmError(
                f"character {text[place]!r} at position {place} is not among the {len(self)} of the vocabulary; "
                f"use only {''.join(self.characters[:_SHOWN])!r}{' and others' if len(self) > _SHOWN else ''}"
            )
        return ids.astype(self.dtype, copy=False)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`."""
        return "".join([self.characters[i] for i in ids])


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
