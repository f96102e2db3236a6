"""A text to bring, and what must be so afterwards, whether that went well or not."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from charlm import corpus
from charlm.errors import CharlmError
from charlm.sources import AnySource, Wheel
from charlm.transport import Patience

TEXT = b"First Citizen:\nBefore we proceed any further, hear me speak.\n" * 2000
SHA256 = hashlib.sha256(TEXT).hexdigest()
OTHER = TEXT.replace(b"First", b"Worst")
OTHER_SHA256 = hashlib.sha256(OTHER).hexdigest()
HASTY = Patience(read_seconds=0.2, total_seconds=30, attempts=2, backoff_seconds=0.001)
WAYS_OUT = (
    f"Set CHARLM_CORPUS=<file> to a local copy with SHA-256 {SHA256}, "
    "or change data.sources, data.sha256 (null takes any text) or data.max_bytes in params.yaml"
)


def fails(target: Path, *sources: AnySource, max_bytes: int = len(TEXT), patience: Patience = HASTY) -> str:
    """Return the error's line, after a look at what it left behind."""
    with pytest.raises(CharlmError) as caught:
        corpus.bring(target, sources, SHA256, max_bytes, patience)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]
    message = str(caught.value)
    assert "\n" not in message
    return message


def brings(target: Path, *sources: AnySource) -> None:
    corpus.bring(target, sources, SHA256, len(TEXT), HASTY)
    assert target.read_bytes() == TEXT
    assert list(target.parent.iterdir()) == [target]


METADATA = """\
Metadata-Version: 2.1
Name: play
Version: 1.0
Requires-Dist: what-nobody-has
"""


def put_wheel(shelf: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Make a wheel play==1.0 that pip accepts."""
    path = shelf / "play-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", compression) as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
        wheel.writestr("play-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("play-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("play-1.0.dist-info/RECORD", "")
    return path


def play(*members: str) -> Wheel:
    return Wheel(wheel="play==1.0", members=members)
