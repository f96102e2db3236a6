"""Tasks in real processes: results in order, errors as one line, and nobody left behind.

The tasks are the functions of `tests.tasks`. A task that must be seen to live or die holds the lock of a file: when the
lock can be had, the process is gone.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm import workers
from charlm.errors import CharlmError
from charlm.workers import Task, run_tasks
from tests.tasks import PATIENCE, answer_at_length, echo, fail, hold, is_locked, meet, noise, take_turns, variables

ROOT = Path(__file__).resolve().parent.parent


OUT_OF_MEMORY = (
    r"^tests.tasks:fail ran out of memory; set CHARLM_JOBS=1, or lower train.block_size or train.batch_size$"
)


PARENT = """
import sys
from charlm.workers import Task, run_tasks
task = Task("tests.tasks:hold", {"lock": sys.argv[1]})
run_tasks([task], jobs=1, environment={}, on_event=lambda index, event: print(event, flush=True))
"""


def task(function: Callable[..., Any], **arguments: Any) -> Task:
    return Task(f"tests.tasks:{function.__name__}", arguments)


def run(tasks: list[Task], *, jobs: int = 1, environment: dict[str, str] | None = None) -> list[Any]:
    return run_tasks(tasks, jobs=jobs, environment=environment or {}, on_event=lambda index, event: None)


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where a worker finds the tasks


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


def test_tasks_that_have_more_to_do_take_turns(tmp_path: Path) -> None:
    turns = {0: 3, 1: 1, 2: 2}
    events: list[tuple[int, Any]] = []
    tasks = [task(take_turns, folder=str(tmp_path), me=me, turns=n) for me, n in turns.items()]
    results = run_tasks(tasks, jobs=1, environment={}, on_event=lambda *event: events.append(event))
    assert results == ["done"] * 3
    assert (tmp_path / "turns").read_text().split() == ["0", "1", "2", "0", "2", "0"]
    assert events == [(me, me) for me in (0, 1, 2, 0, 2, 0)]


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_no_turn_is_lost_or_doubled_among_several_processes(tmp_path: Path, jobs: int) -> None:
    tasks = [task(take_turns, folder=str(tmp_path), me=me, turns=5) for me in range(5)]
    assert run(tasks, jobs=jobs) == ["done"] * 5
    assert sorted((tmp_path / "turns").read_text().split()) == sorted("01234" * 5)


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
        ("bug", r"^a worker for tests.tasks:fail ended with status 1 and no result; run it again$"),
        ("memory", OUT_OF_MEMORY),
        ("torch's memory", OUT_OF_MEMORY),
        ("exit", r"^a worker for tests.tasks:fail ended with status 7 and no result"),
        (
            "killed",
            r"^a worker for tests.tasks:fail was killed, as a system short of memory does; try CHARLM",
        ),
    ],
)
def test_a_failing_task_is_one_line_and_the_other_workers_are_gone(tmp_path: Path, how: str, message: str) -> None:
    lock = tmp_path / "lock"
    with pytest.raises(CharlmError, match=message):
        run([task(hold, lock=str(lock)), task(fail, how=how, after=str(lock))], jobs=2)
    assert lock.exists()
    assert not is_locked(lock)


def test_a_worker_that_is_killed_in_the_middle_of_an_answer_is_an_error_of_one_line() -> None:
    heard: list[Any] = []

    def kill(index: int, event: Any) -> None:
        heard.append(event)
        time.sleep(0.3)  # by now it has filled the pipe, and waits for somebody to read on
        os.kill(event, signal.SIGKILL)

    with pytest.raises(CharlmError, match=r"^a worker for tests\.tasks:answer_at_length was killed, as a"):
        run_tasks([task(answer_at_length)], jobs=1, environment={}, on_event=kill)
    assert len(heard) == 1


def test_a_result_of_code_that_changed_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "src"
    shutil.copytree(workers._SOURCE / "charlm", source / "charlm", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(workers, "_SOURCE", source)
    edit = Task("tests.tasks:append", {"path": str(source / "charlm/errors.py"), "text": "# edited"})
    with pytest.raises(CharlmError, match=r"^src/charlm/errors.py changed while this ran, and DVC would record"):
        run([edit])


def test_after_an_error_no_waiting_task_is_begun(tmp_path: Path) -> None:
    with pytest.raises(CharlmError, match="too high"):
        run([task(fail, how="charlm"), task(meet, folder=str(tmp_path), me=1, all_of_us=1)])
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_does_not_listen_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")  # ends at once, before a task as long as this is read
    with pytest.raises(CharlmError, match=r"a worker for tests\.tasks:echo ended with status 1"):
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
