"""How a program of this project starts, speaks and fails."""

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from charlm.errors import CharlmError

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C

_OWN = ("charlm", "stages", "__main__")  # whose log is for people; of libraries only the warnings are
_MOMENT = 0.5  # seconds


def run(main: Callable[[], None]) -> None:
    """Run `main` as a program: the log on stderr, one line and exit status 1 for what a user can mend."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    for own in _OWN:
        logging.getLogger(own).setLevel(logging.INFO)
    try:
        with _attentive():
            main()
    except CharlmError as error:
        sys.exit(f"error: {error}")
    except OSError as error:  # a full disk, a read-only folder, a missing file
        sys.exit(f"error: {error.strerror or error}: {error.filename or 'no file named'}")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not disturb the end
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


@contextmanager
def _attentive() -> Iterator[None]:
    """Let no wait hide a Ctrl-C for longer than a moment.

    Python looks for signals between its own instructions and when one ends a wait. One that comes after the last
    look and before the wait begins is not seen until the wait is over, which for a silent server is half a minute.
    """
    signal.signal(signal.SIGALRM, lambda *_: None)  # and stays: Python complains of an alarm that finds no handler
    signal.setitimer(signal.ITIMER_REAL, _MOMENT, _MOMENT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
