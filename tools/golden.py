"""`make golden`: what the pinned libraries make of the real text, to the last bit, in tools/golden.json.

tests/test_golden.py compares, so that a library, a processor or a change of code that alters a bit is noticed.
Run it when that is meant, as after a change of a pin, and look at what it says has changed.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from charlm import corpus, paths
from charlm.console import run
from charlm.figures.loss_curves import loss_curves
from charlm.figures.style import Size, png
from charlm.files import write_json
from charlm.palette import styles
from charlm.results import Curve
from charlm.text import pieces
from charlm.tokens import batch
from charlm.vocabulary import Vocabulary
from tools import stack, trial

FILE = Path(__file__).with_name("golden.json")
_STEPS = 100


def main() -> None:
    """Write the file anew, and say what has changed."""
    text = "".join(pieces(Path(os.environ.get(corpus.LOCAL_COPY) or paths.CORPUS)))
    before = load(FILE) if FILE.exists() else {}
    after = {"made_with": stack.here(), "values": measure(text)}
    write_json(FILE, after)
    old, new = dict(leaves(before)), dict(leaves(after))
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    for name in changed:
        print(f"{name}: {old.get(name)!r} -> {new.get(name)!r}")
    print(f"{FILE.name}: {len(changed)} of {len(new)} values changed")


def load(path: Path = FILE) -> dict[str, Any]:
    """Return "made_with", the stack as `tools.stack.here` tells it, and "values", what it made."""
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def measure(text: str) -> dict[str, Any]:
    """Return what has to be the same on any machine: hashes of bytes, and losses with every digit."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            "corpus": _sha256(text.encode("utf-8")),
            "batches": _batches(text),
            **trial.run(text, Path(folder), steps=_STEPS),
            "picture": _sha256(_picture()),
        }


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested dictionaries and lists with the path to it."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, f"{name}.{key}" if name else str(key))
    else:
        yield name, tree


def _batches(text: str) -> list[str]:
    """Return the hashes of a run's first two batches, as 64-bit numbers with the lowest byte first."""
    tokens = Vocabulary.of(text).encode(text)
    batches = [batch(tokens, trial.SEED, step, 32, 32) for step in range(2)]
    return [_sha256(b"".join(part.numpy().astype("<i8").tobytes() for part in pair)) for pair in batches]


def _picture() -> bytes:
    """Draw curves that no model made, of numbers that every processor divides alike."""
    steps = np.arange(0, 1001, 50)
    train = np.array([2.4 + 2 / (1 + steps / 50) + seed / 100 for seed in range(3)])
    curves = {
        "bigram": Curve((1, 2, 3), steps, train=train, val=train + 0.03125),
        "attention": Curve((1, 2, 3), steps, train=train - 0.09375, val=train - 0.0625),
    }
    return png(loss_curves(curves, {"uniform": 4.1744, "counts": 2.48}, styles(curves), Size(8, 4.5, 100)))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    run(main)
