"""The one exception that a user is meant to see."""


class CharlmError(Exception):
    """Something the user can mend.

    The message is one line that names the value, the limit and the remedy; `charlm.console.run` prints it
    without a traceback and exits with status 1.
    """
