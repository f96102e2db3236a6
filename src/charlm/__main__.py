"""The program `charlm`; `python -m charlm` is the same."""

import io
import signal
import sys

from charlm.console import run
from charlm.errors import CharlmError


def main() -> None:
    """Run the command that the arguments name. Exit status 0, 1 for what a user can mend, 2 for wrong usage."""
    run(_obey)


def _obey() -> None:
    if hasattr(signal, "SIGPIPE"):  # a reader such as `head` that has enough ends the program in silence
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.stdout is None:
        raise CharlmError("standard output is closed; there is nowhere to write to")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 whatever the locale; a file's name may be no text
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

    import click

    from charlm.cli.commands import cli

    try:
        status = cli.main(prog_name="charlm", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "charlm"
        print(f"error: {error.format_message().rstrip('.')}; see `{command} --help`", file=sys.stderr)
        sys.exit(error.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    sys.exit(status)


if __name__ == "__main__":
    main()
