"""A disk, a folder or a number that has no room is a line; nothing is torn, and the next `dvc repro` carries on."""

import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pipeline.killing import Starter
from tests.pipeline.repository import Repository, stages_that_ran
from tests.pipeline.trained import CARRIES_ON, check, states

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it mounts what has no room")


@dataclass(frozen=True)
class Apart:
    """A repository as processes see it that have mounts of their own, which need no right and end with the test."""

    holder: int  # a process that does nothing else than keep these mounts
    seen_from_here: Repository

    def run(self, *command: str, status: int = 0) -> str:
        """Run a command among the mounts, check its exit status, and return what it wrote to both streams."""
        enter = ("nsenter", f"--target={self.holder}", "--user", "--mount", "--wd", "--preserve-credentials")
        return self.seen_from_here.run(*enter, *command, status=status)

    def mount(self, folder: str, *options: str) -> None:
        self.run("mkdir", "-p", folder)
        self.run("mount", *options, folder)


@pytest.fixture
def apart(training: Repository) -> Iterator[Apart]:
    """The copy to train in, apart."""
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("needs unshare and nsenter, of the package util-linux")
    ready = ("sh", "-c", "echo; exec sleep infinity")
    holder = subprocess.Popen(
        ("unshare", "--map-root-user", "--mount", *ready),
        cwd=training.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout
        assert holder.stderr
        if not holder.stdout.readline():
            pytest.skip(f"the system lets nobody mount anything here: {holder.stderr.read().decode().strip()}")
        root = Path(f"/proc/{holder.pid}/root")
        yield Apart(holder.pid, Repository(root / training.path.relative_to("/"), training.environment))
        holder.kill()


def test_a_full_disk_is_a_line_and_the_next_attempt_carries_on(apart: Apart, finished: Repository) -> None:
    full = "(No space left on device)"
    apart.mount(".runs", "-t", "tmpfs", "-o", "size=100k", "tmpfs")  # room for two states of a run, not for three
    said = apart.run("dvc", "repro", "train_bigram", status=255)
    told = rf"^error: \.runs/bigram/seed-\d\.state cannot be written {re.escape(full)}; .*`dvc repro`"
    assert re.search(told, said, re.MULTILINE), said
    assert "Traceback" not in said

    apart.run("mount", "-o", "remount,size=2m", ".runs")
    apart.mount("checkpoints", "-t", "tmpfs", "-o", "size=20k", "tmpfs")  # for one checkpoint, not for two
    said = apart.run("python", "-m", "stages.train_bigram", status=1)
    assert re.search(r"^error: No space left on device: checkpoints/bigram/seed-\d\.safetensors$", said, re.MULTILINE)
    assert "Traceback" not in said

    apart.run("mount", "-o", "remount,size=2m", "checkpoints")
    said = apart.run("dvc", "repro", "train_bigram")
    assert sorted(CARRIES_ON.findall(said)) == [("1", "40"), ("2", "40")]
    check(apart.seen_from_here, finished, "bigram")


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
    assert states(training, "bigram") == set(), "none was small enough"
    said = training.run("dvc", "repro", "train_bigram")
    assert not CARRIES_ON.search(said)
    check(training, finished, "bigram")


def test_a_read_only_folder_is_a_line_and_the_next_attempt_carries_on(apart: Apart, finished: Repository) -> None:
    def read_only(folder: str) -> str:
        apart.mount(folder, "--bind", "-o", "ro", folder)
        said = apart.run("python", "-m", "stages.train_bigram", status=1)
        apart.run("umount", folder)
        return said.splitlines()[-1]

    assert read_only(".runs") == "error: Read-only file system: .runs/bigram.lock"
    assert re.search(r"^error: Read-only file system: .*/reports/curves/\.bigram\.csv\S+$", read_only("reports/curves"))
    said = apart.run("dvc", "repro", "train_bigram")
    assert sorted(CARRIES_ON.findall(said)) == [("1", "40"), ("2", "40")]
    check(apart.seen_from_here, finished, "bigram")


def test_a_file_where_a_folder_should_be_is_a_line(training: Repository) -> None:
    (training.path / ".runs").write_bytes(b"")
    said = training.run("python", "-m", "stages.train_bigram", status=1)
    assert said == "error: File exists: .runs\n"


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
