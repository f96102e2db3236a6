"""Processes of a scratch repository that are killed: at a chosen moment, by what they do, or from outside."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.pipeline.repository import Repository

PATIENCE = 120  # seconds for what takes some

# Python imports a module of this name when it starts, if it lies on the path: src/ is on each worker's. An audit
# hook sees each file that is about to be opened or renamed, and ends the process named at that very moment.
HOOK = """
import os, re, signal, sys, threading, time

def arm(victim, event, pattern, count, delay):
    seen = [0]

    def pid_above(pid):
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])

    def kill():
        match victim:
            case "self":
                os.kill(os.getpid(), signal.SIGKILL)
            case "parent":
                os.kill(os.getppid(), signal.SIGKILL)
            case "grandparent":
                os.kill(pid_above(os.getppid()), signal.SIGKILL)
            case "group":
                os.killpg(0, signal.SIGKILL)

    def watch(name, arguments):
        if name != event or not re.search(pattern, " ".join(map(str, arguments))):
            return
        seen[0] += 1
        if seen[0] != int(count):
            return
        if float(delay):
            threading.Timer(float(delay), kill).start()
        else:
            kill()
            # Time to be ended too, before it goes on: at once by the parent's death; that of the parent's parent is
            # seen twice in a second, or later on a busy machine.
            time.sleep(5 if victim == "grandparent" else 1)

    sys.addaudithook(watch)

if "CHARLM_TEST_DEATH" in os.environ:
    arm(*os.environ["CHARLM_TEST_DEATH"].split("|"))
"""


@dataclass(frozen=True)
class Death:
    """Who dies, and just before what.

    Attributes:
        victim: the process that does it, its parent, its grandparent, or the whole tree of DVC.
        event: an audit event of Python, such as os.rename.
        pattern: a regular expression for its arguments, joined by spaces.
        count: at which such event, counted in each process.
        delay: seconds from there on, in which the process goes on.
    """

    victim: str
    event: str
    pattern: str
    count: int = 1
    delay: float = 0


def arm(repository: Repository) -> None:
    """Lay the hook where the repository's processes find it, and DVC does not."""
    (repository.path / "src/sitecustomize.py").write_text(HOOK, encoding="utf-8")
    repository.environment["PYTHONPATH"] = str(repository.path / "src")


@dataclass
class Running:
    """A command that leads a process group of its own, as a shell starts it in a terminal."""

    process: subprocess.Popen[bytes]
    output: Path

    def wait(self) -> tuple[int, str]:
        """Return the exit status of the leader (others may still run), and what all have said so far."""
        status = self.process.wait(PATIENCE)
        return status, self.said()

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")

    def members(self) -> list[int]:
        """Return the processes of the group that still live."""
        return [pid for pid, (_, group) in processes().items() if group == self.process.pid]


def start(repository: Repository, *command: str, death: Death | None = None) -> Running:
    """Start a command in the repository, with a death in store for it."""
    environment = dict(repository.environment)
    if death:
        values = (death.victim, death.event, death.pattern, death.count, death.delay)
        environment["CHARLM_TEST_DEATH"] = "|".join(map(str, values))
    descriptor, output = tempfile.mkstemp(prefix="said.", dir=repository.path.parent)
    with os.fdopen(descriptor, "wb") as file:
        process = subprocess.Popen(
            command,
            cwd=repository.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    return Running(process, Path(output))


class Starter(Protocol):
    """`start`."""

    def __call__(self, repository: Repository, *command: str, death: Death | None = None) -> Running: ...


def processes() -> dict[int, tuple[int, int]]:
    """Return the parent and the group of every process that is more than a zombie."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, parent, group = _stat(entry)
            except OSError:  # gone meanwhile
                continue
            if state not in "ZX":
                found[int(entry.name)] = (int(parent), int(group))
    return found


def pause(pid: int) -> None:
    """Stop a process, and return when it stands still: until then it may do more, even end, on a busy machine."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: {_stat(task)[0] for task in Path(f"/proc/{pid}/task").iterdir()} == {"T"})


def _stat(entry: Path) -> list[str]:
    """Return state, parent and group of a process or a thread."""
    return (entry / "stat").read_text().rpartition(")")[2].split()[:3]


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)


def children(pid: int) -> list[int]:
    """Return the living processes that `pid` has started."""
    return [child for child, (parent, _) in processes().items() if parent == pid]


def mend_dvc(repository: Repository, said: str) -> bool:
    """Mend what a DVC that got to no stage could not read; say whether there was such a thing."""
    if "Running stage" in said:
        return False
    mending = subprocess.run(
        [sys.executable, "-m", "tools.mend"],
        cwd=repository.path,
        env=repository.environment,
        check=False,
        capture_output=True,
    )
    return mending.returncode == 0
