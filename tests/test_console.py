"""A program ends with a line that says what is wrong, and the status that scripts look at."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
PROGRAM = """
import logging
from pathlib import Path
from charlm.console import run
from charlm.errors import CharlmError

def main():
    logging.getLogger("charlm.anything").info("a log of %d words", 5)
    logging.getLogger("torch.anything").info("what torch says of its caches at the end")
    {statement}

run(main)
"""


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("print('done')", 0, ""),
        ("raise CharlmError('train.steps is 0; it wants more')", 1, "error: train.steps is 0; it wants more\n"),
        ("Path('/no/such/file').read_bytes()", 1, "error: No such file or directory: /no/such/file\n"),
        ("raise OSError(28, 'No space left on device')", 1, "error: No space left on device: no file named\n"),
        ("raise OSError('read timed out')", 1, "error: read timed out: no file named\n"),
        ("raise KeyboardInterrupt", 130, "interrupted\n"),
    ],
)
def test_an_end_is_a_status_and_at_most_one_line_on_stderr(statement: str, status: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement=statement)],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert done.stdout == ("" if status else "done\n")
    assert done.stderr == f"a log of 5 words\n{said}"


def test_a_ctrl_c_that_ends_no_wait_is_seen_soon() -> None:
    """The signal goes to another thread, so it leaves the wait as one does that comes just before the wait begins."""
    script = """
import signal, sys, threading, time
from charlm.console import run
threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
waiting = time.monotonic()
try:
    run(lambda: time.sleep(20))
finally:
    print(time.monotonic() - waiting)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert float(done.stdout) < 5


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement="[][0]")],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "IndexError" in done.stderr
