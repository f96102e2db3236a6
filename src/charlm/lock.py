"""One at a time: a lock that ends with the last process that holds it, however that ends."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[int]:
    """Hold the lock file `path`, waiting for whoever holds it now; give its descriptor.

    A process that inherits the descriptor holds the lock too, until it ends.

    Args:
        path: made when missing, and left there: deleting it would let two holders in.
        what: what the holder does, for the line that says what is waited for.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            log.info("process %s is %s already; waiting for it to end (or stop it: kill %s)", holder, what, holder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # a full disk: say where
            raise OSError(error.errno, error.strerror, str(path)) from None
        yield descriptor
    finally:
        os.close(descriptor)
