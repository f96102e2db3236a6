"""What a DVC that was killed leaves half written, `make repro` mends, and no more than that."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.pipeline.repository import Repository

LOCK = "dvc.lock was not whole, and is again what Git has; what was not in Git is run again\n"
WHO = ".dvc/tmp/rwlock was half written, and is removed: DVC makes it anew\n"


def cut(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_lock_file_that_is_cut_off_is_brought_back(training: Repository, share: float) -> None:
    """DVC may read it all the same, as one without the last stages, or with half a hash."""
    cut(training.path / "dvc.lock", share)
    assert training.run("python", "-m", "tools.mend") == LOCK
    assert training.run("git", "status", "--porcelain") == ""


def test_what_is_whole_is_left_alone(training: Repository) -> None:
    lock = training.path / "dvc.lock"
    lock.write_bytes(lock.read_bytes() + b"# a line of its own\n")
    assert training.run("python", "-m", "tools.mend", status=1) == ""
    assert lock.read_bytes().endswith(b"# a line of its own\n")


def test_what_git_does_not_give_back_is_one_line(training: Repository) -> None:
    training.run("git", "rm", "--quiet", "--cached", "dvc.lock")
    cut(training.path / "dvc.lock", 0.7)
    said = training.run("python", "-m", "tools.mend", status=1)
    assert said.startswith("error: dvc.lock is not whole, and Git says: error: pathspec 'dvc.lock' did not match")
    assert said.count("\n") == 1


def test_make_repro_mends_and_goes_on(repository: Repository) -> None:
    make = shutil.which("make")
    assert make
    (repository.path / ".venv").symlink_to(sys.prefix)
    (repository.path / ".dvc/tmp/rwlock").write_bytes(b'{"/data/raw/corpus.txt": {"write": {"pid": 1')
    cut(repository.path / "dvc.lock", 0.7)
    said = repository.run(make, "--assume-old=.venv/.installed", "repro")
    assert WHO in said
    assert LOCK in said
    assert said.endswith(
        "Data and pipelines are up to date.\nThe report: reports/report.md, or open reports/report.html\n"
    )
