"""Where texts come from and go to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A text of an earlier time, which a failure must leave as it is."""
    path = tmp_path / "raw" / "corpus.txt"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip knows of the world."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder
