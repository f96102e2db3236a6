"""Files and folders of one's own."""

import errno
import hashlib
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from charlm import corpus
from charlm.sources import File, Folder
from tests.corpus.bringing import HASTY, OTHER, OTHER_SHA256, SHA256, WAYS_OUT, fails


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of own texts in a repository, in whose root we are."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "texts"
    folder.mkdir()
    return folder


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def joined(target: Path, pattern: str = "*.txt", folder: str = "texts") -> bytes:
    corpus.bring(target, [Folder(folder=folder, pattern=pattern)], None, 1, HASTY)
    return target.read_bytes()


def test_a_file_comes_as_it_is_and_has_no_limit(texts: Path, target: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "charlm")
    content = b"\xef\xbb\xbf\xff\r\n no line's end" * 10_000
    put(texts, {"plays/mine.txt": content})
    corpus.bring(target, [File(file="texts/plays/mine.txt")], hashlib.sha256(content).hexdigest(), 1, HASTY)
    assert target.read_bytes() == content
    assert caplog.messages == [f"{target}: {len(content)} bytes from texts/plays/mine.txt"]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("texts/none.txt", "texts/none.txt: No such file or directory"),
        ("texts", "texts: Is a directory"),
        ("texts/empty.txt", "texts/empty.txt: 0 bytes, no text"),
        ("texts/other.txt", f"texts/other.txt: {len(OTHER)} bytes with SHA-256 {OTHER_SHA256}, not {SHA256}"),
    ],
)
def test_a_wrong_file_is_refused(texts: Path, target: Path, file: str, reason: str) -> None:
    put(texts, {"empty.txt": b"", "other.txt": OTHER})
    assert fails(target, File(file=file)) == f"no source has the text: {reason}. {WAYS_OUT}"


def test_the_files_of_a_folder_are_joined_in_the_order_of_their_paths(
    texts: Path, target: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "charlm")
    names = ["b.txt", "a.txt", "10.txt", "9.txt", "B.txt", "é.txt", "a b.txt", "notes.md", "a/c.txt"]
    put(texts, {name: f"{name}\n".encode() for name in names})
    assert joined(target).decode().splitlines() == ["10.txt", "9.txt", "B.txt", "a b.txt", "a.txt", "b.txt", "é.txt"]
    assert "texts/*.txt: 7 files joined, from texts/10.txt to texts/é.txt" in caplog.messages
    assert joined(target, "**/a*.txt").decode().splitlines() == ["a b.txt", "a.txt"]
    assert joined(target, "**/[ac]*.txt").decode().splitlines() == ["a b.txt", "a.txt", "a/c.txt"]
    assert joined(target, "*", "texts/a/") == b"a/c.txt\n"


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ([b"one\n", b"two\n"], b"one\ntwo\n"),
        ([b"one", b"two"], b"one\ntwo"),
        ([b"one\r\n", b"two\r", b"three"], b"one\r\ntwo\r\nthree"),  # CR LF: still one end of a line
        ([b"one", b"", b"two", b""], b"one\ntwo"),
        ([b"\xef\xbb\xbfone", b"\xef\xbb\xbftwo\n", b"\xef\xbb\xbf", b"three"], b"\xef\xbb\xbfone\ntwo\nthree"),
        ([b"x" * 70_000, b"y" * 140_000], b"x" * 70_000 + b"\n" + b"y" * 140_000),
    ],
    ids=["whole", "no end", "windows and mac", "empty", "marks", "long"],
)
def test_each_file_begins_on_a_line_of_its_own(texts: Path, target: Path, files: list[bytes], text: bytes) -> None:
    put(texts, {f"{number}.txt": content for number, content in enumerate(files)})
    assert joined(target) == text


def test_hidden_files_are_no_texts(texts: Path, target: Path) -> None:
    put(texts, {"a.txt": b"a", ".b.txt": b"b", ".c/d.txt": b"d", "e/.f/g.txt": b"g"})
    assert joined(target, "**/*.txt") == b"a"


@pytest.mark.parametrize(
    ("folder", "pattern", "reason"),
    [
        ("texts/none", "*.txt", "texts/none/*.txt: there is no such folder"),
        ("texts/a.md", "*.txt", "texts/a.md/*.txt: there is no such folder"),
        ("texts", "*.txt", "texts/*.txt: no file there has such a name"),
        ("texts", "*.utf16", "texts/*.utf16: texts/b.utf16 begins as UTF-16 does, and cannot be joined: convert"),
    ],
)
def test_a_wrong_folder_is_refused(texts: Path, target: Path, folder: str, pattern: str, reason: str) -> None:
    put(texts, {"a.md": b"a", "b.utf16": "b".encode("utf-16")})
    assert fails(target, Folder(folder=folder, pattern=pattern)).startswith(f"no source has the text: {reason}")


@pytest.mark.parametrize("pattern", ["", ".", "./", "././.", "/*.txt", "../*.txt", "a/../*.txt", "a\\*.txt"])
def test_a_pattern_that_names_nothing_below_its_folder_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="a pattern names files below its folder, without"):
        Folder(folder="texts", pattern=pattern)


def test_a_file_of_a_folder_that_cannot_be_opened_is_named(
    texts: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(texts, {"a.txt": b"a", "b.txt": b"b"})
    opened = Path.open

    def refusing(path: Path, mode: str = "r") -> Any:  # as a user would see it; root may open any file
        if path.name == "b.txt":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", refusing)
    said = fails(target, Folder(folder="texts", pattern="*.txt"))
    assert said.startswith("no source has the text: texts/*.txt: texts/b.txt: Permission denied. ")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_of_a_folder_that_cannot_be_read_is_named(texts: Path, target: Path) -> None:
    put(texts, {"a.txt": b"a"})
    (texts / "b.txt").symlink_to("/proc/self/mem")  # nothing lies at address 0
    said = fails(target, Folder(folder="texts", pattern="*.txt"))
    assert said.startswith("no source has the text: texts/*.txt: texts/b.txt: Input/output error. ")
