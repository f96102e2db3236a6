"""How a program of this project starts, speaks and fails."""

import logging
import signal
import sys
from collections.abc import Callable

from charlm.errors import CharlmError

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


def run(main: Callable[[], None]) -> None:
    """Run `main` as a program: the log on stderr, one line and exit status 1 for what a user can mend."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except CharlmError as error:
        sys.exit(f"error: {error}")
    except OSError as error:  # a full disk, a read-only folder, a missing file
        sys.exit(f"error: {error.strerror or error}: {error.filename or 'no file named'}")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not disturb the end
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
