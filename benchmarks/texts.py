"""Generated texts of any size."""

from pathlib import Path

import numpy as np

_BLOCK_CHARACTERS, _BLOCKS = 10**6, 32

ASCII = "\n" + "".join(map(chr, range(32, 127)))
# Of each length in UTF-8: ASCII, Cyrillic, 3,000 Chinese characters, emoji.
MIXED = (ASCII, *("".join(map(chr, range(*ends))) for ends in ((0x410, 0x450), (0x4E00, 0x59B8), (0x1F600, 0x1F640))))
_SHARES = (0.6, 0.2, 0.19, 0.01)
ALPHABETS = {"ASCII": (ASCII,), "mixed Unicode": MIXED, "shuffled Unicode": MIXED}
# Characters in a row from one alphabet. In a text that people write, those of a word have one script; decoding UTF-8
# takes three times as long where each character may be of any length.
_RUNS = {"ASCII": 1, "mixed Unicode": 5, "shuffled Unicode": 1}


def write(*, path: str, kind: str, size: int) -> None:
    """Write `size` bytes of drawn characters, as UTF-8: blocks of text, in drawn order."""
    draw = np.random.default_rng(1)
    blocks = [_block(draw, ALPHABETS[kind], _RUNS[kind]).encode() for _ in range(_BLOCKS)]
    with Path(path).open("wb") as file:
        while (left := size - file.tell()) > 0:
            block = blocks[draw.integers(_BLOCKS)]
            # Cut where a character ends.
            file.write(block if len(block) <= left else block[:left].decode(errors="ignore").encode() or b"\n" * left)


def _block(draw: np.random.Generator, alphabets: tuple[str, ...], run: int) -> str:
    """Return drawn characters: `run` of one alphabet in a row, the n-th of it about as often as 1 / (n + 10)."""
    shares = np.array(_SHARES[: len(alphabets)])
    which = draw.choice(len(alphabets), _BLOCK_CHARACTERS // run, p=shares / shares.sum()).repeat(run)
    characters = np.empty(_BLOCK_CHARACTERS, dtype="<u4")
    for number, alphabet in enumerate(alphabets):
        weights = 1 / (np.arange(len(alphabet)) + 10)
        codes = np.array([ord(character) for character in alphabet])
        here = which == number
        characters[here] = codes[draw.choice(len(codes), here.sum(), p=weights / weights.sum())]
    return characters.tobytes().decode("utf-32-le")
