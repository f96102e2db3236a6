"""Tasks for workers: what they are told, whether they run side by side, and how they fail."""

import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from charlm.errors import CharlmError

PATIENCE = 20  # seconds for what takes a fraction of one

Tell = Callable[[Any], None]


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def echo(*, value: Any, sleep: float = 0, tell: Tell) -> dict[str, Any]:
    time.sleep(sleep)
    tell({"value": value})
    print("what a task prints is no answer")
    return {"value": value, "pid": os.getpid()}


def meet(*, folder: str, me: int, all_of_us: int, tell: Tell) -> int:
    """Wait until all are here at the same time."""
    Path(folder, str(me)).touch()
    deadline = time.monotonic() + PATIENCE
    while len(list(Path(folder).iterdir())) < all_of_us:
        if time.monotonic() > deadline:
            raise CharlmError("the others did not come")
        time.sleep(0.01)
    return me


def variables(*, names: list[str], tell: Tell) -> list[str | None]:
    return [os.environ.get(name) for name in names]


def hold(*, lock: str, tell: Tell) -> None:
    """Hold a lock for ever."""
    with Path(lock).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        tell("held")
        time.sleep(3600)


def fail(*, how: str, after: str | None = None, tell: Tell) -> None:
    """Fail, once the file `after` is locked."""
    deadline = time.monotonic() + PATIENCE
    while after and not is_locked(Path(after)) and time.monotonic() < deadline:
        time.sleep(0.01)
    match how:
        case "charlm":
            raise CharlmError("the learning rate is too high")
        case "os":
            Path("/no/such/folder/file").read_bytes()
        case "bug":
            raise ZeroDivisionError
        case "memory":
            raise MemoryError
        case "torch's memory":
            import torch

            torch.empty(1 << 60)
        case "exit":
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)


def noise(*, tell: Tell) -> str:
    """Write to standard output as a library in C does."""
    os.write(1, b"MKL warns of something\n")
    return "done"


def append(*, path: str, text: str, tell: Tell) -> int:
    with Path(path).open("a") as file:
        return file.write(text)


def answer_at_length(*, tell: Tell) -> None:
    """Tell which process this is, and then a line that is longer than a pipe holds."""
    tell(os.getpid())
    tell("x" * 10_000_000)


def take_turns(*, folder: str, me: int, turns: int, tell: Tell) -> str | None:
    """Write a line for each turn, and be done with the last."""
    with Path(folder, "turns").open("a") as file:
        file.write(f"{me}\n")
    tell(me)
    return "done" if Path(folder, "turns").read_text().split().count(str(me)) == turns else None
