"""The text is the right one or none, wherever it comes from."""

import logging
from pathlib import Path

import pytest

from charlm import corpus
from charlm.errors import CharlmError
from charlm.sources import Url
from tests.corpus.bringing import HASTY, OTHER, OTHER_SHA256, SHA256, TEXT, WAYS_OUT, brings, fails, play, put_wheel
from tests.servers import Answer, Server, cut, endless, redirect, stall, whole

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
    assert caplog.messages[0] == f"sha256 {OTHER_SHA256} is what was found; data.sha256 in params.yaml can pin it"


def test_without_a_hash_no_hash_is_asked_of_a_local_copy(server: Server, target: Path) -> None:
    url = server.on("/", whole(b"", 404))
    with pytest.raises(CharlmError, match="to a local copy, or change"):
        corpus.bring(target, [Url(url=url)], None, len(TEXT), HASTY)


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
