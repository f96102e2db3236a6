"""Files are whole or absent, whatever stops the writer."""

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from charlm import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_atomic_makes_the_file_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    with files.atomic(path) as temporary:
        temporary.write_bytes(b"new")
        assert temporary.parent == path.parent
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["file"]


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with files.atomic(path) as temporary:
        temporary.write_bytes(b"ne")
        assert path.read_bytes() == b"old"
        temporary.write_bytes(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_after_an_error_nothing_is_left(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half() -> None:
        with files.atomic(path) as temporary:
            temporary.write_bytes(b"ha")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_write_that_finds_no_room_names_the_file(tmp_path: Path) -> None:
    """A limit of this process stands in for a full disk: the failing call is the same, and knows no name either."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = """
import resource, sys
from pathlib import Path
from charlm import console, files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # Python ignores the signal, so that the write fails
console.run(lambda: files.write_bytes(Path(sys.argv[1]), bytes(2000)))
"""
    source = Path(files.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        env={"PYTHONPATH": str(source)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, f"error: File too large: {path}\n")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("error", "filename"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "file"),
        (OSError(errno.EACCES, "Permission denied", "another"), "another"),
        (OSError("in words alone"), None),
    ],
)
def test_only_an_error_that_names_no_file_is_given_this_ones_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, filename: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    said = str(error)

    def fail() -> None:
        with files.atomic(Path("file")):
            raise error

    with pytest.raises(OSError) as caught:  # noqa: PT011 (it is `error` itself, as is looked at below)
        fail()
    assert caught.value is error
    assert error.filename == filename
    assert str(error) == (said if filename != "file" else f"{said}: 'file'")


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = """
import os, signal, sys
from pathlib import Path
from charlm import files
with files.atomic(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    source = Path(files.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", script, path], env={"PYTHONPATH": str(source)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    [leftover] = tmp_path.glob(".file.*.tmp")
    assert leftover.read_bytes() == b"half"


def test_bytes_are_on_disk_before_the_name_and_the_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(descriptor: int) -> None:
        events.append("sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        fsync(descriptor)

    def note_replace(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    files.write_bytes(tmp_path / "file", b"new")
    assert events == ["sync file", "rename", "sync folder"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_the_mode_is_that_of_any_new_file(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        files.write_bytes(tmp_path / "file", b"new")
        assert os.umask(umask) == umask  # reading the mask did not change it
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_text_is_utf8_with_its_line_ends(tmp_path: Path) -> None:
    files.write_text(tmp_path / "file", "é\n\r\n→")
    assert (tmp_path / "file").read_bytes() == b"\xc3\xa9\n\r\n\xe2\x86\x92"


def test_json_bytes(tmp_path: Path) -> None:
    files.write_json(tmp_path / "file", {"b": [1, 0.5], "a": "é"})
    assert (tmp_path / "file").read_text("utf-8") == '{\n  "b": [\n    1,\n    0.5\n  ],\n  "a": "é"\n}\n'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_json_without_nan(tmp_path: Path, number: float) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(path, {"loss": number})
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("size", [0, 3, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_sha256_of_every_byte(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"abc"[: size % 256]
    (tmp_path / "file").write_bytes(content)
    assert files.sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()
