"""Tasks side by side, in a few computing processes.

The process that calls `run_tasks` needs no torch, and the variables that decide the bits of a result are in
place before a worker imports it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from charlm import worker
from charlm.errors import CharlmError

_SOURCE = Path(__file__).resolve().parent.parent
_PARENT = os.getppid()
_PATIENCE = 0.5  # seconds between two looks at whether the parent is still there

OnEvent = Callable[[int, Any], None]  # the task's index and what the task told


@dataclass(frozen=True)
class Task:
    """A call of `target`, written "module:function", with arguments and a result that JSON can hold.

    The function gets one more keyword argument, `tell`: what it passes to that is an event. Where it returns None it
    has more to do, and is called again when those that wait have had their turn: so a few processes do many long
    tasks, and none is left alone with the last of them.
    """

    target: str
    arguments: dict[str, Any]


def run_tasks(
    tasks: Sequence[Task],
    *,
    jobs: int,
    environment: Mapping[str, str],
    on_event: OnEvent,
    inherit: Sequence[int] = (),
) -> list[Any]:
    """Run the tasks, at most `jobs` at a time, and return their results in order.

    Args:
        tasks: what to do; a result must not depend on which tasks, or parts of a task, share a process.
        jobs: how many processes may run at a time.
        environment: added to this process's own variables.
        on_event: called for each event, never twice at a time.
        inherit: descriptors that the workers keep open until they end, such as a lock's.

    Raises:
        CharlmError: the first that a task raised, or when a worker or this process's parent was killed; the
            workers are stopped.
    """
    waiting = deque(enumerate(tasks))
    results: list[Any] = [None] * len(tasks)
    lock = threading.Lock()

    def tell(index: int, event: Any) -> None:
        with lock:
            on_event(index, event)

    def work(process: _Worker) -> None:
        with process:
            while True:
                try:
                    index, task = waiting.popleft()
                except IndexError:
                    return
                results[index] = process.run(task, partial(tell, index))
                if results[index] is None:
                    waiting.append((index, task))

    crew = [_Worker(environment, inherit) for _ in range(min(jobs, len(tasks)))]
    with ThreadPoolExecutor(max(1, len(crew))) as threads:
        try:
            pending = {threads.submit(work, process) for process in crew}
            while pending:
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                stop_if_orphaned()
        finally:
            for process in crew:
                process.kill()
            for process in crew:
                process.wait()
    return results


def stop_if_orphaned() -> None:
    """Stop when the process that started this one is gone: nobody takes its results, and they may be in the way.

    Raises:
        CharlmError: when the parent was killed.
    """
    if os.getppid() != _PARENT:
        raise CharlmError("the process that started this one was killed, so it stops too; run it again")


class _Worker:
    """One process of `charlm.worker`."""

    def __init__(self, environment: Mapping[str, str], inherit: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            pass_fds=inherit,
            env={**os.environ, **environment, "PYTHONPATH": str(_SOURCE)},
        )

    def run(self, task: Task, tell: Callable[[Any], None]) -> Any:
        assert self._process.stdin and self._process.stdout  # both are pipes
        with suppress(BrokenPipeError):  # a dead worker: its answers end at once, and that is reported below
            self._process.stdin.write(json.dumps(asdict(task)) + "\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if not line.endswith("\n"):
                break  # it died while it wrote that
            answer = json.loads(line)
            if "error" in answer:
                raise CharlmError(answer["error"])
            if "result" in answer:
                return answer["result"]
            tell(answer["event"])
        status = self._process.wait()
        if status == -signal.SIGKILL:
            why = "was killed, as a system short of memory does; try CHARLM_JOBS=1 or a smaller model"
        else:
            why = f"ended with status {status} and no result; run it again"
        raise CharlmError(f"a worker for {task.target} {why}")

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the pipes; an idle worker ends by that."""
        assert self._process.stdin and self._process.stdout  # both are pipes
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
