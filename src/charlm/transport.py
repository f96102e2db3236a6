"""Bytes over HTTP, from a server that may stall, stop early, never stop, or lead away from https."""

import ipaddress
import itertools
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urljoin

import requests
import urllib3
from tqdm import tqdm

from charlm.errors import CharlmError

T = TypeVar("T")

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Patience:
    """How long, and how often, a source is waited for."""

    connect_seconds: float = 10.0
    read_seconds: float = 30.0  # of silence
    total_seconds: float = 300.0  # over all attempts
    attempts: int = 3
    backoff_seconds: float = 0.5  # before the second attempt; doubles with each further one
    redirects: int = 5


PATIENT = Patience()


class _PassingError(CharlmError):
    """What the next attempt may not meet again."""


def fetch(url: str, into: Path, max_bytes: int, patience: Patience) -> None:
    """Write the body that `url` answers with to the file `into`.

    Every hop is https; http is for loopback hosts alone, and only as long as no hop was https. Network errors,
    status 429 and 5xx are tried again. A body is taken as it is: whether it is the right one, a hash must tell.

    Raises:
        CharlmError: with the reason, in a phrase that does not repeat the address. `into` is then of no use.
    """
    deadline = time.monotonic() + patience.total_seconds
    for attempt in itertools.count(1):
        try:
            _fetch_once(url, into, max_bytes, patience, deadline)
            return
        except _PassingError as error:
            pause = patience.backoff_seconds * 2 ** (attempt - 1)
            if attempt == patience.attempts or time.monotonic() + pause >= deadline:
                raise CharlmError(f"{error} (attempt {attempt} of {patience.attempts})") from None
            time.sleep(pause)


def capped(pieces: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Hand on `pieces` until they end. Raises CharlmError, and asks for no more, once they exceed `max_bytes`."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > max_bytes:
            raise CharlmError(f"longer than the limit of {max_bytes} bytes")
        yield piece


def _fetch_once(url: str, into: Path, max_bytes: int, patience: Patience, deadline: float) -> None:
    try:
        with requests.Session() as session, _open(session, url, patience, deadline) as response:
            _refuse_unless_plain(response)
            _write(response, into, max_bytes, deadline)
    except TimeoutError:
        raise CharlmError(f"not done within {patience.total_seconds:g} s") from None
    except ValueError as error:  # what requests, urllib3 and urljoin raise for an address that is none
        raise CharlmError(str(error)) from None
    except requests.ConnectTimeout:
        raise _PassingError(f"no connection within {patience.connect_seconds:g} s") from None
    except (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError):
        raise _PassingError(f"silent for {patience.read_seconds:g} s") from None
    except (requests.ConnectionError, urllib3.exceptions.HTTPError) as error:
        cause = _first_cause(error)
        kind = CharlmError if isinstance(cause, ssl.SSLCertVerificationError) else _PassingError
        raise kind(str(cause)) from None


def _open(session: requests.Session, url: str, patience: Patience, deadline: float) -> requests.Response:
    """Follow redirects by hand, so that every hop is looked at before it is taken."""
    https_only = False
    for _ in range(patience.redirects + 1):
        https_only = _refuse_unless_secure(url, https_only)
        ask = partial(
            session.get,
            url,
            stream=True,
            allow_redirects=False,
            headers={"Accept-Encoding": "identity"},
            timeout=(patience.connect_seconds, patience.read_seconds),
        )
        response = _within(deadline - time.monotonic(), ask)
        if not response.is_redirect:
            return response
        response.close()
        url = urljoin(url, response.headers["Location"])
    raise CharlmError(f"more than {patience.redirects} redirects")


def _refuse_unless_secure(url: str, https_only: bool) -> bool:
    """Return whether all further hops must be https."""
    parts = urllib3.util.parse_url(url)  # as requests reads it: another parser could see another host
    if parts.scheme == "https":
        return True
    if https_only or parts.scheme != "http" or not _is_loopback(parts.host or ""):
        raise CharlmError(f"{url} is not https")
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_unless_plain(response: requests.Response) -> None:
    status = response.status_code
    if status == requests.codes.too_many_requests or status >= requests.codes.server_error:
        raise _PassingError(f"HTTP status {status}")
    if status != requests.codes.ok:
        raise CharlmError(f"HTTP status {status}")
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":  # a few bytes of gzip can unfold to any size
        raise CharlmError(f"Content-Encoding is {encoding}, though the request forbade any")


def _write(response: requests.Response, into: Path, max_bytes: int, deadline: float) -> None:
    # read1 returns with what has come. read would wait for a full chunk, and a drip could hold it for days.
    pieces = iter(partial(response.raw.read1, CHUNK_BYTES), b"")
    with (
        into.open("wb") as file,
        tqdm(total=response.raw.length_remaining, unit="B", unit_scale=True, leave=False, disable=None) as bar,
    ):
        for piece in capped(pieces, max_bytes):
            if time.monotonic() > deadline:
                raise TimeoutError
            file.write(piece)
            bar.update(len(piece))


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise TimeoutError after `seconds` and leave its thread behind.

    Neither the resolving of a name nor headers that drip in are bounded by a socket's timeout.
    """
    future: Future[T] = Future()

    def body() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=body, daemon=True).start()
    return future.result(max(seconds, 0))


def _first_cause(error: BaseException) -> BaseException:
    """Unwrap the layers of requests and urllib3, whose texts fill lines and say less than what they wrap."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error
