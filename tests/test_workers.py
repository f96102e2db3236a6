"""Tasks in real processes: results in order, errors as one line, and nobody left behind.

The tasks are functions of this file. A task that must be seen to live or die holds the lock of a file: when the
lock can be had, the process is gone.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError
from charlm.workers import Task, run_tasks

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 20  # seconds for what takes a fraction of one

Tell = Callable[[Any], None]


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
        case "exit":
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)


def noise(*, tell: Tell) -> str:
    """Write to standard output as a library in C does."""
    os.write(1, b"MKL warns of something\n")
    return "done"


PARENT = """
import sys
from charlm.workers import Task, run_tasks
task = Task("tests.test_workers:hold", {"lock": sys.argv[1]})
run_tasks([task], jobs=1, environment={}, on_event=lambda index, event: print(event, flush=True))
"""


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def task(function: Callable[..., Any], **arguments: Any) -> Task:
    return Task(f"tests.test_workers:{function.__name__}", arguments)


def run(tasks: list[Task], *, jobs: int = 1, environment: dict[str, str] | None = None) -> list[Any]:
    return run_tasks(tasks, jobs=jobs, environment=environment or {}, on_event=lambda index, event: None)


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where a worker finds this file


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_order_and_events_with_their_tasks_index(jobs: int) -> None:
    events: list[tuple[int, Any]] = []
    inside = threading.Lock()

    def note(index: int, event: Any) -> None:
        assert inside.acquire(blocking=False)  # never twice at a time
        events.append((index, event))
        time.sleep(0.01)
        inside.release()

    values = ["a", 2, None, {"é": [1.5]}, "e"]
    tasks = [task(echo, value=value, sleep=0.2 if i == 0 else 0) for i, value in enumerate(values)]
    results = run_tasks(tasks, jobs=jobs, environment={}, on_event=note)
    assert [result["value"] for result in results] == values
    assert len({result["pid"] for result in results}) <= jobs
    assert sorted(events, key=lambda event: event[0]) == [(i, {"value": value}) for i, value in enumerate(values)]


def test_as_many_tasks_run_side_by_side_as_jobs(tmp_path: Path) -> None:
    assert run([task(meet, folder=str(tmp_path), me=i, all_of_us=3) for i in range(3)], jobs=3) == [0, 1, 2]


def test_no_tasks_are_no_work() -> None:
    assert run([], jobs=3) == []


def test_variables_arrive_before_the_task_and_over_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARLM_TEST_OWN", "own")
    monkeypatch.setenv("CHARLM_TEST_SET", "old")
    names = ["CHARLM_TEST_OWN", "CHARLM_TEST_SET"]
    assert run([task(variables, names=names)], environment={"CHARLM_TEST_SET": "new"}) == [["own", "new"]]
    assert os.environ["CHARLM_TEST_SET"] == "old"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("charlm", r"^the learning rate is too high$"),
        ("os", r"^No such file or directory: /no/such/folder/file$"),
        ("bug", r"^a worker for tests.test_workers:fail ended with status 1 and no result; run it again$"),
        ("exit", r"^a worker for tests.test_workers:fail ended with status 7 and no result"),
        (
            "killed",
            r"^a worker for tests.test_workers:fail was killed, as a system short of memory does; try CHARLM",
        ),
    ],
)
def test_a_failing_task_is_one_line_and_the_other_workers_are_gone(tmp_path: Path, how: str, message: str) -> None:
    lock = tmp_path / "lock"
    with pytest.raises(CharlmError, match=message):
        run([task(hold, lock=str(lock)), task(fail, how=how, after=str(lock))], jobs=2)
    assert lock.exists()
    assert not is_locked(lock)


def test_after_an_error_no_waiting_task_is_begun(tmp_path: Path) -> None:
    with pytest.raises(CharlmError, match="too high"):
        run([task(fail, how="charlm"), task(meet, folder=str(tmp_path), me=1, all_of_us=1)])
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_does_not_listen_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")  # ends at once, before a task as long as this is read
    with pytest.raises(CharlmError, match=r"a worker for tests\.test_workers:echo ended with status 1"):
        run([task(echo, value="x" * 1_000_000)])


def test_what_a_library_writes_to_standard_output_is_no_answer() -> None:
    assert run([task(noise)]) == ["done"]


def test_a_worker_dies_when_its_parent_is_killed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, lock],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "held\n"
        assert is_locked(lock)
        parent.kill()
    deadline = time.monotonic() + PATIENCE
    while is_locked(lock) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_locked(lock)
