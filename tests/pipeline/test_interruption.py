"""Whatever interrupts a training, the next `dvc repro` carries on and ends with the bytes of an undisturbed run.

Real processes under the real DVC, killed by real signals. The undisturbed run is the fixture `finished`; it has
evaluations at steps 0, 20 and 40, and two seeds side by side.
"""

import os
import re
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pipeline.killing import Death, Starter, arm, children, mend_dvc, pause, processes, until
from tests.pipeline.repository import CHARACTERS, Repository
from tests.pipeline.trained import CARRIES_ON, STOPPED, check, states
from tests.stress import stress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it finds processes in /proc")


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


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_a_stage_ends_when_dvc_is_killed_whatever_the_shell(training: Repository, start: Starter, shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"there is no {shell}")
    training.environment["SHELL"] = shell
    training.set(train__steps="1000000")
    running = start(training, "dvc", "repro", "train_bigram")
    until(lambda: states(training, "bigram"))
    [stage] = children(running.process.pid)
    assert Path(f"/proc/{stage}/cmdline").read_bytes().startswith(b"python\0"), "no shell lies between"
    running.process.kill()
    running.process.wait()
    began = time.monotonic()
    until(lambda: running.members() == [])
    assert time.monotonic() - began < 5
    assert "error: the process that started this one was killed, so it stops too" in running.said()


def test_a_trainer_whose_dvc_was_killed_spoils_nothing_of_the_next(
    training: Repository, start: Starter, finished: Repository, tmp_path: Path
) -> None:
    """DVC is killed alone, other parameters are set, and `dvc repro` starts at once."""
    stays = tmp_path / "stays"  # a shell that does not become the stage; then the stage does not notice
    stays.write_text('#!/bin/sh\n/bin/sh "$@"\nexit $?\n')
    stays.chmod(stays.stat().st_mode | stat.S_IXUSR)
    training.environment["SHELL"] = str(stays)
    training.set(train__steps="1500", train__seeds="[1, 2, 3]", bigram__learning_rate="0.02")
    orphaned = start(training, "dvc", "repro", "train_bigram")
    until(lambda: states(training, "bigram"))
    orphaned.process.kill()
    orphaned.process.wait()
    members = orphaned.members()
    for pid in members:  # else it may be done before the next one comes
        pause(pid)

    training.run("git", "checkout", "--quiet", "params.yaml")
    following = start(training, "dvc", "repro", "train_bigram")
    until(lambda: re.search(r"process \d+ is training bigram already; waiting for it to end", following.said()))
    for pid in members:
        os.kill(pid, signal.SIGCONT)
    status, said = following.wait()
    assert status == 0, said
    assert "bigram, seed 3: validation loss" in orphaned.said(), "it has written all it had to write"
    assert orphaned.members() == []
    check(training, finished, "bigram")


def test_a_worker_that_outlives_its_stage_holds_the_lock_until_it_ends(training: Repository, start: Starter) -> None:
    training.set(train__steps="1000000")
    first = start(training, "python", "-m", "stages.train_bigram")
    until(lambda: states(training, "bigram"))
    [worker] = children(first.process.pid)
    pause(worker)
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
    tally = stress(3, ("bigram",), seed=1, text=corpus_text[:CHARACTERS], scratch=tmp_path, say=said.append)
    assert tally.kills >= 3
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
    for pid in running.members():  # and once more, by an impatient person; DVC itself does not stand that at its end
        if pid != running.process.pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
    status, said = running.wait()
    seconds = time.monotonic() - began
    assert running.members() == []
    assert seconds < 2
    assert status > 0, "DVC had its say"
    lines = [line for line in said.splitlines() if line]
    assert lines[-3:-1] == [STOPPED, "interrupted"]
    assert lines[-1] in {  # what DVC says, by which it sees first: that the stage ended, or the signal
        "ERROR: failed to reproduce 'train_bigram': failed to run: exec python -m stages.train_bigram, exited with 130",
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
    if status:  # DVC cannot read what it had half written, and says so; `make repro` mends that
        assert death.delay
        assert mend_dvc(training, said), said
        training.run("dvc", "repro", "train_bigram")
    check(training, finished, "bigram")
