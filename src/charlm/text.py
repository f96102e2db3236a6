"""Text out of bytes, a piece at a time: memory does not grow with it."""

import codecs
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from charlm.errors import CharlmError

_CHUNK_BYTES = 1 << 20
_MARK = "\ufeff"  # the byte-order mark that some editors put before a text


def is_encoding(name: str) -> bool:
    """Say whether Python knows an encoding of this name that makes text, and only text, of bytes which come singly."""
    probe = "a..b"  # Python's encodings for names of hosts have no such name
    halves = (b"+2AA-", b"\\ud800")  # how UTF-7 and the escapes of programs write half a character, which is no text
    try:
        encoded = probe.encode(name)
        found = "".join(codecs.iterdecode((encoded[i : i + 1] for i in range(len(encoded))), name))
        return found == probe and not any("\ud800" in half.decode(name, "ignore") for half in halves)
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return False


def pieces(
    path: Path,
    encoding: str = "utf-8",
    *,
    normalise: bool = False,
    say: Callable[[str], None] = lambda line: None,
    chunk_bytes: int = _CHUNK_BYTES,
) -> Iterator[str]:
    """Yield the text of the pipeline's file in order, in pieces that are never empty.

    Args:
        path: the file.
        encoding: how its bytes make characters, as Python calls it.
        normalise: as `normalised` does.
        say: told once at the end, in a line, what that changed, if anything.
        chunk_bytes: read at a time.

    Raises:
        CharlmError: with the offset of the first byte that is none of this encoding.
    """
    remedy = (
        "set tokenize.encoding to what it is, for instance latin-1, or convert what data.sources or CHARLM_CORPUS names"
    )
    with path.open("rb") as file:
        texts = decoded(file, str(path), encoding, remedy=remedy, chunk_bytes=chunk_bytes)
        if normalise:
            texts = normalised(
                texts, lambda changes: say(f"{path}: {changes}; tokenize.normalise: false keeps the text as it is")
            )
        yield from texts


def normalised(texts: Iterable[str], say: Callable[[str], None]) -> Iterator[str]:
    """Yield a text's pieces without a byte-order mark at its start, and with newlines for the line ends CR LF and CR.

    `say` is told once at the end what that changed, if anything. No piece is empty, in or out.
    """
    line_ends = io.IncrementalNewlineDecoder(None, translate=True)
    marked = waits = False  # waits: a CR at the end of a piece, for what follows it
    for number, text in enumerate(itertools.chain(texts, [""])):
        piece = text
        if number == 0:
            marked = text.startswith(_MARK)
            piece = text.removeprefix(_MARK)
        if waits or "\r" in piece:  # it would look for one too, and beyond ASCII many times slower
            piece, waits = line_ends.decode(piece, final=not text), piece.endswith("\r")
        if piece:
            yield piece
    if changes := _changes(marked, line_ends.newlines):
        say(changes)


def decoded(
    source: IO[bytes], name: str, encoding: str, *, remedy: str, chunk_bytes: int = _CHUNK_BYTES
) -> Iterator[str]:
    """Yield the text of `source` in order, in pieces that are never empty.

    Raises:
        CharlmError: with `name`, the offset of the first byte that is none of this encoding, and `remedy`.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = 0  # of the end of what the decoder has got
    while True:
        chunk = source.read(chunk_bytes)
        offset += len(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise CharlmError(f"{name} is not {encoding}{_place(error, offset)}; {remedy}") from None
        if text:
            yield text
        if not chunk:
            return


def _place(error: UnicodeError, end: int) -> str:
    """Say what is wrong where, given where the bytes end in which it was found."""
    if not isinstance(error, UnicodeDecodeError):  # as in UTF-16 that does not say the order of its bytes
        return f" ({error})"
    place = end - len(error.object) + error.start
    return f" at byte {place} (0x{error.object[error.start]:02x}: {error.reason})"


def _changes(marked: bool, line_ends: str | tuple[str, ...] | None) -> str:
    names = {"\r\n": "CR LF", "\r": "CR"}
    found = [names[end] for end in (line_ends if isinstance(line_ends, tuple) else (line_ends,)) if end in names]
    said = ["a byte-order mark left out"] if marked else []
    if found:
        said.append(f"line ends {' and '.join(found)} made newlines")
    return ", ".join(said)
