"""A web server for tests, that answers as badly as the test tells it to."""

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Server(ThreadingHTTPServer):
    """Answers each path by the function in `answers`, the last of a list over and over; notes what was asked."""

    daemon_threads = True

    def __init__(self, scheme: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = scheme
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []
        self.asked_headers: list[dict[str, str]] = []
        self.sent_bytes = 0
        self.stopped = threading.Event()  # an answer that stalls waits for this

    def url(self, path: str) -> str:
        """Return the address of `path` on this server."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}{path}"

    def on(self, path: str, *answers: "Answer") -> str:
        """Answer the first request for `path` by the first of `answers`, and so on. Returns the address."""
        self.answers[path] = list(answers)
        return self.url(path)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is what many tests are about."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_GET(self) -> None:
        """Let the next answer of this path speak."""
        self.server.asked.append(self.path)
        self.server.asked_headers.append(dict(self.headers))
        answers = self.server.answers[self.path]
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def head(self, status: int = 200, **headers: object) -> None:
        """Send the status and headers, an underscore standing for a hyphen."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def send(self, content: bytes) -> None:
        """Send bytes of the body, and count them."""
        self.wfile.write(content)
        self.wfile.flush()
        self.server.sent_bytes += len(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it so)
        """Say nothing."""


Answer = Callable[[Handler], None]


def whole(content: bytes, status: int = 200, **headers: object) -> Answer:
    """Answer with all of `content`."""

    def answer(request: Handler) -> None:
        request.head(status, Content_Length=len(content), **headers)
        request.send(content)

    return answer


def cut(content: bytes, declared: int | None) -> Answer:
    """Answer with `content`, then hang up, having declared another length or none."""

    def answer(request: Handler) -> None:
        request.head(**({} if declared is None else {"Content_Length": declared}))
        request.send(content)

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    """Answer that the thing is elsewhere."""
    return whole(b"elsewhere", status, Location=location)


def endless(request: Handler) -> None:
    """Send zeros until the client hangs up."""
    request.head()
    while not request.server.stopped.is_set():
        request.send(bytes(1 << 16))


def stall(request: Handler) -> None:
    """Begin a body and send no more."""
    request.head(Content_Length=100)
    request.send(b"begun")
    request.server.stopped.wait()


def drip(request: Handler) -> None:
    """Send a byte now and then for some seconds, often enough never to be called silent."""
    request.head()
    _drip(request)


def drip_head(request: Handler) -> None:
    """Send a status line as slowly."""
    _drip(request)


def _drip(request: Handler) -> None:
    until = time.monotonic() + 4
    while time.monotonic() < until and not request.server.stopped.wait(0.02):
        request.send(b"x")


def mute(request: Handler) -> None:
    """Say nothing at all."""
    request.server.stopped.wait()


def hang_up(request: Handler) -> None:
    """Close the connection without an answer."""


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[Server]:
    """Run a server on a free port of 127.0.0.1; with `certificate`, over https."""
    with Server("https" if certificate else "http") as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()


def self_signed(path: Path) -> Path:
    """Write a key and the certificate for 127.0.0.1 that it signs itself to `path`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
