"""Processes that are pinned to cores, timed, and watched for their memory."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import probe
from charlm import numerics
from charlm.errors import CharlmError

ROOT = Path(__file__).resolve().parent.parent
_LOOK = 0.02  # seconds between two looks at a process's memory
PLAIN = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # the fastest for models this small
_DECIDING = {*numerics.environment("portable"), "CHARLM_JOBS"}  # what the caller may have set for itself


@dataclass(frozen=True)
class Ended:
    """A process that ended well.

    Attributes:
        seconds: from its start to its end.
        peak: the most memory it held, in MB of 10^6 bytes, with the pages of files that it mapped.
        peak_anonymous: the same without them, as far as it was seen; of this process alone.
        output: what it wrote to stdout.
    """

    seconds: float
    peak: float
    peak_anonymous: float
    output: str

    @property
    def result(self) -> Any:
        """What `benchmarks.probe` returned."""
        return json.loads(self.output.splitlines()[-1])


def cores() -> list[int]:
    """Return the cores that this process may use. Raises CharlmError where processes cannot be pinned to them."""
    if not hasattr(os, "sched_setaffinity"):
        raise CharlmError("the benchmark pins each process to a core, which this system cannot; run it on Linux")
    return sorted(os.sched_getaffinity(0))


def waited() -> float:
    """Return for how many seconds in all, since the system started, some process has had to wait for a core."""
    with suppress(OSError):  # not every kernel counts it
        some = Path("/proc/pressure/cpu").read_text(encoding="ascii").splitlines()[0]
        return int(some.partition("total=")[2]) / 1e6
    return 0.0


def run(
    command: Sequence[str], *, environment: Mapping[str, str], on: Collection[int], folder: Path | None = None
) -> Ended:
    """Run a command to its end.

    Args:
        command: what to run.
        environment: added to this process's variables, without those that decide how torch computes.
        on: the cores that it and its children may use.
        folder: where it runs; the root of the repository if not given.

    Raises:
        CharlmError: with the end of what it said, when it failed.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _DECIDING}
    variables |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        with _pinned(on):
            process = subprocess.Popen(
                command,
                cwd=folder or ROOT,
                env={**variables, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                start_new_session=True,  # so that it can be ended with all its children
            )
        try:
            anonymous, usage = _watch(process)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.perf_counter() - began
        for file in (out, said):
            file.seek(0)
        if process.returncode:
            lines = (out.read() + said.read()).decode(errors="replace").strip().splitlines()
            end = "\n".join(lines[-15:])
            raise CharlmError(f"{' '.join(command)[:200]} ended with status {process.returncode}:\n{end}")
        return Ended(seconds, usage * 1024 / 1e6, anonymous * 1024 / 1e6, out.read().decode())


def call(
    target: str, *, environment: Mapping[str, str], on: Collection[int], folder: Path | None = None, **arguments: Any
) -> Ended:
    """Call the function `target`, "module:function", in a process of its own."""
    command = [sys.executable, "-m", probe.__name__, target, json.dumps(arguments)]
    return run(command, environment=environment, on=on, folder=folder)


@contextmanager
def _pinned(on: Collection[int]) -> Iterator[None]:
    """Pin this process, so that the one it starts is pinned from the first."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, on)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _watch(process: "subprocess.Popen[bytes]") -> tuple[int, int]:
    """Wait until it ends; return the peaks of its anonymous memory and of all its memory, in KiB."""
    anonymous = 0
    descriptor = os.pidfd_open(process.pid)
    try:
        while not select.select([descriptor], [], [], _LOOK)[0]:
            anonymous = max(anonymous, _anonymous(process.pid))
    finally:
        os.close(descriptor)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return anonymous, usage.ru_maxrss


def _anonymous(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    return 0
