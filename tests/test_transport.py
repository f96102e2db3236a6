"""The transport against a server that misbehaves in every way seen in the wild."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from charlm import transport
from charlm.errors import CharlmError
from charlm.transport import Patience
from tests.servers import (
    Answer,
    Server,
    cut,
    drip,
    drip_head,
    endless,
    hang_up,
    mute,
    redirect,
    self_signed,
    serving,
    stall,
    whole,
)

TEXT = b"To be, or not to be\n" * 5000
LIMIT = len(TEXT)
HASTY = Patience(connect_seconds=1, read_seconds=0.2, total_seconds=5, backoff_seconds=0.001)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "body"


def fails(url: str, into: Path, patience: Patience = HASTY) -> str:
    with pytest.raises(CharlmError) as caught:
        transport.fetch(url, into, LIMIT, patience)
    return str(caught.value)


def test_a_good_body_arrives_at_the_first_request(server: Server, into: Path) -> None:
    transport.fetch(server.on("/", whole(TEXT)), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT
    assert server.asked == ["/"]
    assert server.asked_headers[0]["Accept-Encoding"] == "identity"


def test_one_byte_above_the_limit_is_too_much(server: Server, into: Path) -> None:
    assert fails(server.on("/", whole(TEXT + b"!")), into) == f"longer than the limit of {LIMIT} bytes"
    assert server.asked == ["/"]


def test_an_endless_body_is_cut_off(server: Server, into: Path) -> None:
    assert fails(server.on("/", endless), into) == f"longer than the limit of {LIMIT} bytes"
    assert server.asked == ["/"]
    assert into.stat().st_size <= LIMIT
    assert server.sent_bytes < 100 * LIMIT  # what the sockets' buffers swallowed


def test_a_body_shorter_than_declared_is_an_error_tried_again(server: Server, into: Path) -> None:
    reason = fails(server.on("/", cut(TEXT[:7], declared=LIMIT)), into)
    assert reason == f"IncompleteRead(7 bytes read, {LIMIT - 7} more expected) (attempt 3 of 3)"
    assert server.asked == ["/"] * 3


def test_a_cut_body_of_undeclared_length_is_left_to_the_hash(server: Server, into: Path) -> None:
    transport.fetch(server.on("/", cut(TEXT[:7], declared=None)), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT[:7]


@pytest.mark.parametrize(
    "failure",
    [whole(b"oops", 500), whole(b"busy", 503), whole(b"slow down", 429), hang_up, stall, cut(TEXT[:-1], LIMIT)],
    ids=["500", "503", "429", "hang up", "stall", "short"],
)
def test_what_passes_is_tried_again(server: Server, into: Path, failure: Answer) -> None:
    transport.fetch(server.on("/", failure, whole(TEXT)), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT
    assert server.asked == ["/"] * 2


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (whole(b"oops", 502), "HTTP status 502"),
        (whole(b"slow down", 429), "HTTP status 429"),
        (hang_up, "Remote end closed connection without response"),
        (stall, "silent for 0.2 s"),
        (mute, "silent for 0.2 s"),
    ],
    ids=["502", "429", "hang up", "stall", "mute"],
)
def test_attempts_are_numbered(server: Server, into: Path, failure: Answer, reason: str) -> None:
    assert fails(server.on("/", failure), into) == f"{reason} (attempt 3 of 3)"
    assert server.asked == ["/"] * 3


@pytest.mark.parametrize("status", [204, 206, 304, 400, 403, 404, 410])
def test_what_does_not_pass_is_not_tried_again(server: Server, into: Path, status: int) -> None:
    assert fails(server.on("/", whole(b"no", status)), into) == f"HTTP status {status}"
    assert server.asked == ["/"]


def test_pauses_double(server: Server, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("charlm.transport.time.sleep", pauses.append)
    fails(server.on("/", whole(b"", 500)), into, Patience(attempts=4, backoff_seconds=0.25))
    assert pauses == [0.25, 0.5, 1.0]


def test_no_pause_goes_past_the_deadline(server: Server, into: Path) -> None:
    patience = Patience(total_seconds=0.5, backoff_seconds=0.5)
    assert fails(server.on("/", whole(b"", 500)), into, patience) == "HTTP status 500 (attempt 1 of 3)"


@pytest.mark.parametrize("answer", [drip, drip_head])
def test_a_drip_ends_at_the_deadline(server: Server, into: Path, answer: Answer) -> None:
    start, threads = time.monotonic(), set(threading.enumerate())
    patience = Patience(read_seconds=5, total_seconds=0.3)
    assert fails(server.on("/", answer), into, patience) == "not done within 0.3 s"
    assert time.monotonic() - start < 2
    assert all(thread.daemon for thread in set(threading.enumerate()) - threads)  # none keeps the program alive
    assert server.asked == ["/"]


def test_a_compressed_body_is_refused(server: Server, into: Path) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    reason = fails(server.on("/", whole(bomb, Content_Encoding="gzip")), into)
    assert reason == "Content-Encoding is gzip, though the request forbade any"
    assert server.asked == ["/"]
    assert not into.exists()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(server: Server, into: Path, status: int) -> None:
    server.on("/b", redirect(server.url("/c"), status))
    server.on("/c", whole(TEXT))
    transport.fetch(server.on("/a", redirect("b", status)), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT
    assert server.asked == ["/a", "/b", "/c"]


def test_a_redirect_loop_ends(server: Server, into: Path) -> None:
    assert fails(server.on("/", redirect("/")), into) == "more than 5 redirects"
    assert server.asked == ["/"] * 6


@pytest.mark.parametrize(
    "url",
    ["http://example.com/text", "http://127.0.0.1.example.com/", "http://example.com\\@127.0.0.1/", "ftp://127.0.0.1/"],
)
def test_only_https_leaves_this_machine(server: Server, into: Path, url: str) -> None:
    assert "is not https" in fails(url, into)
    assert "is not https" in fails(server.on("/", redirect(url)), into)
    assert server.asked == ["/"]


def test_a_redirect_to_a_file_is_refused(server: Server, into: Path) -> None:
    assert fails(server.on("/", redirect("file:///etc/passwd")), into) == "file:///etc/passwd is not https"


@pytest.mark.parametrize("url", ["https://", "https://[", "http://[bad", "text.txt"])
def test_an_address_that_is_none_is_refused(server: Server, into: Path, url: str) -> None:
    assert "attempt" not in fails(url, into)


def test_a_redirect_to_nowhere_is_refused(server: Server, into: Path) -> None:
    assert "IPv6" in fails(server.on("/", redirect("http://[bad")), into)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_http_is_allowed_on_this_machine(into: Path, host: str) -> None:
    assert "is not https" not in fails(f"http://{host}:1/", into)  # nobody listens there


def test_nobody_takes_the_connection(into: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        patience = Patience(connect_seconds=0.1, attempts=2, backoff_seconds=0.001)
        reason = fails(f"http://127.0.0.1:{full.getsockname()[1]}/", into, patience)
    assert reason == "no connection within 0.1 s (attempt 2 of 2)"


def test_nobody_listens(into: Path) -> None:
    with socket.socket() as bound:  # a port that is taken and does not listen
        bound.bind(("127.0.0.1", 0))
        reason = fails(f"http://127.0.0.1:{bound.getsockname()[1]}/", into)
    assert reason.endswith("Connection refused (attempt 3 of 3)")


def test_https_with_a_trusted_certificate(certificate: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with serving(certificate) as server:
        transport.fetch(server.on("/", whole(TEXT)), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT


def test_https_with_a_certificate_nobody_vouches_for(certificate: Path, into: Path) -> None:
    with serving(certificate) as server:
        reason = fails(server.on("/", whole(TEXT)), into)
    assert "certificate verify failed: self-signed certificate" in reason
    assert "attempt" not in reason
    assert server.asked == []


def test_https_never_becomes_http(certificate: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with serving(certificate) as safe, serving() as unsafe:
        target = unsafe.on("/", whole(TEXT))
        safe.on("/2", redirect(target))
        assert fails(safe.on("/1", redirect("/2")), into) == f"{target} is not https"
        assert safe.asked == ["/1", "/2"]
        assert unsafe.asked == []


def test_http_may_become_https(server: Server, certificate: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with serving(certificate) as safe:
        transport.fetch(server.on("/", redirect(safe.on("/", whole(TEXT)))), into, LIMIT, HASTY)
    assert into.read_bytes() == TEXT
