"""Whatever interrupts a training, the next `dvc repro` carries on and ends with the bytes of an undisturbed run.

Real processes under the real DVC, killed by real signals. The undisturbed run is the fixture `finished`; it has
evaluations at steps 0, 20 and 40, and two seeds side by side.
"""

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from tests.pipeline import killing
from tests.pipeline.killing import Death, Running, arm, children, mend_dvc, processes, until
from tests.pipeline.repository import CHARACTERS, Repository, stages_that_ran
from tests.stress import stress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it finds processes in /proc")

STOPPED = "stopped; each run is kept as of its last evaluation, and `dvc repro` carries on from there"
CARRIES_ON = re.compile(r"^seed (\d) carries on from step (\d+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def untrained(fresh: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A clone in which all before the training has run. Not to be changed: copy it."""
    repository = fresh.clone(tmp_path_factory.mktemp("untrained") / "a clone with tokens")
    repository.environment["SHELL"] = "/bin/bash"  # it becomes the stage, which so is DVC's child
    repository.environment["CHARLM_JOBS"] = "1"  # the cheapest, where nothing depends on it
    repository.run("dvc", "repro", "tokenize")
    repository.run("git", "add", "--all")
    repository.run("git", "commit", "--quiet", "--message", "Tokens")
    return repository


@pytest.fixture
def training(untrained: Repository, tmp_path: Path) -> Repository:
    """A copy of it that a test may change."""
    return untrained.copy(tmp_path / "a copy to train in")


class Starter(Protocol):
    """`killing.start`."""

    def __call__(self, repository: Repository, *command: str, death: Death | None = None) -> Running: ...


@pytest.fixture
def start() -> Iterator[Starter]:
    """Start commands in the background, of which nothing is left when the test ends, whatever its end."""
    all_running: list[Running] = []

    def begin(repository: Repository, *command: str, death: Death | None = None) -> Running:
        all_running.append(killing.start(repository, *command, death=death))
        return all_running[-1]

    yield begin
    for running in all_running:
        for pid in running.members():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.process.wait()


def check_outputs(repository: Repository, finished: Repository, model: str) -> None:
    """Compare what the training left with what an undisturbed one left."""

    def outputs(of: Repository) -> dict[str, bytes]:
        files = [*(of.path / "checkpoints" / model).iterdir(), of.path / f"reports/curves/{model}.csv"]
        return {str(file.relative_to(of.path)): file.read_bytes() for file in files}

    assert outputs(repository) == outputs(finished)
    assert [path.name for path in (repository.path / "reports/curves").iterdir()] == [f"{model}.csv"]
    assert not (repository.path / ".runs" / model).exists()


def check(repository: Repository, finished: Repository, model: str) -> None:
    """Compare that, and what DVC recorded of it."""

    def recorded(in_: Repository) -> Any:
        return yaml.safe_load((in_.path / "dvc.lock").read_text())["stages"][f"train_{model}"]

    check_outputs(repository, finished, model)
    assert recorded(repository) == recorded(finished)


def states(repository: Repository, model: str) -> set[str]:
    """Return the runs of which a state is kept, be it for a moment only the older one."""
    folder = repository.path / ".runs" / model
    return {path.stem for path in folder.glob("*") if path.suffix in {".state", ".older"}}


# --- kill -9 ----------------------------------------------------------------------------------------------------


# Each death is followed by the seed, and the step that the next attempt carries it on from.
@pytest.mark.parametrize(
    ("model", "deaths"),
    [
        (
            "bigram",
            [
                # A worker, between the two renames of the state of step 20: that of step 0 is left.
                (Death("self", "os.rename", r"seed-1\.state -1", 2), (1, 0)),
                # All, when the stage has written the curves and not yet renamed them.
                (Death("group", "os.rename", r"bigram\.csv -1"), (2, 40)),
            ],
        ),
        (
            "attention",
            [
                # DVC, when the state of step 40 is written, and that of step 20 is still in its place.
                (Death("grandparent", "os.rename", r"seed-2\.older -1", 2), (2, 20)),
                # The stage, before a worker writes into a checkpoint.
                (Death("parent", "open", r"\.seed-2\.safetensors\S+tmp w "), (2, 40)),
            ],
        ),
    ],
)
def test_a_training_that_is_killed_again_and_again_ends_with_the_same_bytes(
    training: Repository,
    start: Starter,
    finished: Repository,
    model: str,
    deaths: list[tuple[Death, tuple[int, int] | None]],
) -> None:
    training.environment["CHARLM_JOBS"] = "2"
    arm(training)
    expected: tuple[int, int] | None = None
    attempts = []
    for death, then in [*deaths, (None, None)]:
        attempts.append(start(training, "dvc", "repro", f"train_{model}", death=death))
        status, said = attempts[-1].wait()
        assert (status == 0) == (death is None), said
        carried_on = {(int(seed), int(step)) for seed, step in CARRIES_ON.findall(said)}
        assert expected is None or expected in carried_on, said
        assert "not used" not in said
        expected = then
    check(training, finished, model)
    if deaths[0][0].victim == "grandparent":
        assert "error: the process that started this one was killed, so it stops too" in attempts[0].said()


def test_a_trainer_whose_dvc_was_killed_spoils_nothing_of_the_next(
    training: Repository, start: Starter, finished: Repository, tmp_path: Path
) -> None:
    """DVC is killed alone, other parameters are set, and `dvc repro` starts at once."""
    stays = tmp_path / "stays"  # as some shells do, Debian's sh among them; then the stage does not notice
    stays.write_text('#!/bin/sh\n/bin/sh "$@"\nexit $?\n')
    stays.chmod(stays.stat().st_mode | stat.S_IXUSR)
    training.environment["SHELL"] = str(stays)
    training.set(train__steps="1500", train__seeds="[1, 2, 3]", bigram__learning_rate="0.02")
    orphaned = start(training, "dvc", "repro", "train_bigram")
    until(lambda: states(training, "bigram"))
    orphaned.process.kill()
    orphaned.process.wait()

    training.run("git", "checkout", "--quiet", "params.yaml")
    said = training.run("dvc", "repro", "train_bigram")
    assert re.search(r"process \d+ is training bigram already; waiting for it to end", said), said
    assert "bigram, seed 3: validation loss" in orphaned.said(), "it has written all it had to write"
    assert orphaned.members() == []
    check(training, finished, "bigram")


def test_a_worker_that_outlives_its_stage_holds_the_lock_until_it_ends(training: Repository, start: Starter) -> None:
    training.set(train__steps="1000000")
    first = start(training, "python", "-m", "stages.train_bigram")
    until(lambda: states(training, "bigram"))
    [worker] = children(first.process.pid)
    os.kill(worker, signal.SIGSTOP)
    first.process.kill()
    first.process.wait()

    second = start(training, "python", "-m", "stages.train_bigram")
    until(lambda: f"process {first.process.pid} is training bigram already" in second.said())
    time.sleep(0.5)
    assert not children(second.process.pid)
    os.kill(worker, signal.SIGCONT)
    until(lambda: CARRIES_ON.search(second.said()))
    assert worker not in processes()


def test_a_short_stress(corpus_text: str, tmp_path: Path) -> None:
    said: list[str] = []
    tally = stress(6, ("bigram",), seed=1, text=corpus_text[:CHARACTERS], scratch=tmp_path, say=said.append)
    assert tally.kills >= 6
    assert tally.trainings >= 1
    assert tally.differing == 0, said


# --- Ctrl-C, and a polite kill ----------------------------------------------------------------------------------


def test_ctrl_c_stops_at_once_says_how_to_go_on_and_leaves_nobody(training: Repository, start: Starter) -> None:
    training.environment["CHARLM_JOBS"] = "2"
    training.set(train__steps="1000000")
    running = start(training, "dvc", "repro", "train_bigram")
    until(lambda: len(states(training, "bigram")) == 2)

    # Meanwhile another `dvc repro` says who is at work, and touches nothing.
    said = training.run("dvc", "repro", "train_bigram", status=255)
    assert f"is busy, it is being blocked by:\n  (PID {running.process.pid})" in said
    assert len(states(training, "bigram")) == 2

    began = time.monotonic()
    os.killpg(running.process.pid, signal.SIGINT)  # as a terminal does
    time.sleep(0.05)
    os.killpg(running.process.pid, signal.SIGINT)  # and once more, by an impatient person
    status, said = running.wait()
    seconds = time.monotonic() - began
    assert running.members() == []
    assert seconds < 2
    assert status not in {0, -signal.SIGINT}, "DVC had its say"
    lines = [line for line in said.splitlines() if line]
    assert lines[-3:-1] == [STOPPED, "interrupted"]
    assert lines[-1] in {  # what DVC says when the second comes too late, and in time
        "ERROR: failed to reproduce 'train_bigram': failed to run: python -m stages.train_bigram, exited with 130",
        "ERROR: interrupted by the user",
    }
    assert "Traceback" not in said
    assert len(states(training, "bigram")) == 2
    assert training.run("git", "status", "--porcelain").split() == ["M", "params.yaml"]


def test_a_stage_that_is_told_to_end_leaves_nobody(training: Repository, start: Starter) -> None:
    training.set(train__steps="1000000")
    running = start(training, "python", "-m", "stages.train_bigram")
    until(lambda: states(training, "bigram"))
    assert children(running.process.pid)
    began = time.monotonic()
    running.process.send_signal(signal.SIGTERM)
    assert running.wait()[0] == -signal.SIGTERM
    until(lambda: running.members() == [])
    assert time.monotonic() - began < 2
    assert "Traceback" not in running.said()


# --- no room, no permission -------------------------------------------------------------------------------------


@contextmanager
def mounted(path: Path, *options: str) -> Iterator[None]:
    """Mount something on a folder, where that is allowed."""
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", *options, str(path)], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_full_disk_is_a_line_and_the_next_attempt_carries_on(training: Repository, finished: Repository) -> None:
    runs = training.path / ".runs"
    with mounted(runs, "-t", "tmpfs", "-o", "size=100k", "tmpfs"):  # room for two states of a run, not for three
        said = training.run("dvc", "repro", "train_bigram", status=255)
        assert re.search(
            r"^error: \.runs/bigram/seed-\d\.state cannot be written \(No space left on device\); .*`dvc repro`",
            said,
            re.MULTILINE,
        ), said
        assert "Traceback" not in said
        subprocess.run(["mount", "-o", "remount,size=2m", str(runs)], check=True)
        said = training.run("dvc", "repro", "train_bigram")
        assert CARRIES_ON.search(said)
        check(training, finished, "bigram")


def test_a_file_size_limit_is_a_line_and_leaves_nothing_torn(training: Repository, finished: Repository) -> None:
    limited = subprocess.run(
        [sys.executable, "-m", "stages.train_bigram"],
        cwd=training.path,
        env=training.environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
        check=False,
        capture_output=True,
        text=True,
    )
    assert limited.returncode == 1
    assert re.search(r"^error: \.runs/\S+ cannot be written \(File too large\)", limited.stderr.splitlines()[-1])
    assert states(training, "bigram") == {"seed-1"}, "the one of step 0 was small enough"
    said = training.run("python", "-m", "stages.train_bigram")
    assert "seed 1 carries on from step 0" in said
    check_outputs(training, finished, "bigram")


def test_a_read_only_folder_is_a_line_and_the_next_attempt_carries_on(
    training: Repository, finished: Repository
) -> None:
    def read_only(folder: str) -> str:
        path = str(training.path / folder)
        with mounted(training.path / folder, "--bind", "-o", "ro", path):
            return training.run("python", "-m", "stages.train_bigram", status=1).splitlines()[-1]

    assert read_only(".runs") == "error: Read-only file system: .runs/bigram.lock"
    assert re.search(r"^error: Read-only file system: .*/reports/curves/\.bigram\.csv\S+$", read_only("reports/curves"))
    said = training.run("dvc", "repro", "train_bigram")
    assert sorted(CARRIES_ON.findall(said)) == [("1", "40"), ("2", "40")]
    check(training, finished, "bigram")


def test_a_file_where_a_folder_should_be_is_a_line(training: Repository) -> None:
    (training.path / ".runs").write_bytes(b"")
    said = training.run("python", "-m", "stages.train_bigram", status=1)
    assert said == "error: File exists: .runs\n"


# --- DVC's part -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "death",
    [
        Death("group", "shutil.copyfile", r"seed-2\.safetensors"),  # one output is in the cache, and one not
        Death("group", "open", r"dvc\.lock w", delay=0.001),  # dvc.lock is half written
    ],
)
def test_a_dvc_that_is_killed_while_it_moves_outputs_repairs_that(
    training: Repository, start: Starter, finished: Repository, death: Death
) -> None:
    arm(training)
    status, said = start(training, "dvc", "repro", "train_bigram", death=death).wait()
    assert status == -signal.SIGKILL, said
    assert "bigram, seed 2: validation loss" in said, "the training was over"

    status, said = start(training, "dvc", "repro", "train_bigram").wait()
    if status:  # DVC cannot read what it had half written, says so, and goes on when that is brought back from Git
        assert death.delay
        assert mend_dvc(training, said), said
        training.run("dvc", "repro", "train_bigram")
    check(training, finished, "bigram")


# --- a loss that is not finite ----------------------------------------------------------------------------------


def test_a_loss_that_overflows_stops_all_workers_and_leaves_no_trace(
    training: Repository, start: Starter, finished: Repository
) -> None:
    """No rate that is allowed overflows, since AdamW's decay holds the weights down; so more is allowed here."""
    training.environment["CHARLM_JOBS"] = "2"
    settings = training.path / "src/charlm/settings.py"
    settings.write_text(settings.read_text().replace("gt=0, le=10,", "gt=0, le=1e38,"))
    training.set(attention__learning_rate="1e6", train__steps="1000000")
    running = start(training, "dvc", "repro", "train_attention")
    status, said = running.wait()
    assert running.members() == []
    assert status == 255
    message = r"^error: the loss of seed [12] is (?:nan|inf) at step \d+, after (\S+); (.*)$"
    line = re.search(message, said, re.MULTILINE)
    assert line, said
    assert float(line[1]) > 0
    assert line[2] == "the learning rate 1e+06 is probably too high, try a tenth of it"
    assert not (training.path / "reports/curves/attention.csv").exists()
    assert not list((training.path / "checkpoints/attention").glob("*"))
    for state in (training.path / ".runs/attention").iterdir():
        assert b"NaN" not in state.read_bytes()
        assert b"Infinity" not in state.read_bytes()

    training.run("git", "checkout", "--quiet", "params.yaml")
    said = training.run("dvc", "repro", "train_attention")
    assert "is of a run with other parameters, data or code: not used" in said
    assert stages_that_ran(said) == ["train_attention"]
    for seed in (1, 2):
        name = f"checkpoints/attention/seed-{seed}.safetensors"
        assert (training.path / name).read_bytes() == (finished.path / name).read_bytes()
