"""One at a time, across real processes, until the last holder of the lock has ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from charlm.lock import exclusive

SOURCE = Path(__file__).resolve().parent.parent / "src"
PATIENCE = 20  # seconds for what takes a fraction of one

# Takes the lock, says so, and holds it until a line comes or its stdin closes. A process of its own can hold it on.
HOLDER = """
import logging, subprocess, sys
from pathlib import Path
from charlm.lock import exclusive
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
with exclusive(Path(sys.argv[1]), "training bigram") as descriptor:
    heir = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor]).pid if sys.argv[2:] == ["with heir"] else None
    print("held", heir, flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


class Holder:
    """A process that holds the lock, or waits for it."""

    def __init__(self, lock: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", HOLDER, lock, *arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "bigram.lock"


def test_a_second_process_waits_with_one_line_and_goes_on_when_the_first_ends(lock: Path) -> None:
    first = Holder(lock)
    assert first.says() == "held None"
    second = Holder(lock)
    pid = first.process.pid
    assert second.says() == (
        f"process {pid} is training bigram already; waiting for it to end (or stop it: kill {pid})"
    )
    time.sleep(0.3)
    assert lock.read_text() == f"{pid}\n", "the second has not got it"
    first.end()
    assert first.says() == "let go"
    assert second.says() == "held None"
    assert lock.read_text() == f"{second.process.pid}\n"
    second.end()
    first.close()
    second.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_lock_of_a_process_that_was_killed_is_free(lock: Path, number: signal.Signals) -> None:
    first = Holder(lock)
    assert first.says() == "held None"
    first.process.send_signal(number)
    first.process.wait(PATIENCE)
    with exclusive(lock, "training bigram"):
        assert lock.read_text() == f"{os.getpid()}\n"
    first.close()


def test_a_process_that_outlives_the_holder_holds_the_lock_until_it_ends(lock: Path) -> None:
    first = Holder(lock, "with heir")
    heir = int(first.says().removeprefix("held "))
    first.process.kill()
    first.process.wait()
    second = Holder(lock)
    assert f"process {first.process.pid} is training bigram already" in second.says()
    os.kill(heir, 0)
    os.kill(heir, signal.SIGKILL)
    assert second.says() == "held None"
    second.end()
    first.close()
    second.close()


def test_the_lock_is_free_again_after_an_error_and_its_file_stays(lock: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), exclusive(lock, "training bigram"):
            raise ZeroDivisionError
    assert lock.exists()


def test_a_disk_with_no_room_for_the_pid_is_an_error_that_names_the_file(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("charlm.lock.os.pwrite", full)
    with pytest.raises(OSError, match="No space left on device") as caught, exclusive(lock, "training bigram"):
        pytest.fail("it was let in")
    assert caught.value.filename == str(lock)
