"""What a DVC that was killed leaves half written, `make repro` mends, and no more than that."""

import shutil
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo  # type: ignore[import-untyped]

from tests.pipeline.repository import OUR_VENV, ROOT, Repository

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


def test_a_lock_file_that_is_cut_within_a_character_is_brought_back(training: Repository) -> None:
    lock = training.path / "dvc.lock"
    lock.write_bytes(lock.read_bytes() + "# \u00e9".encode()[:-1])
    assert training.run("python", "-m", "tools.mend") == LOCK


def test_while_a_dvc_is_at_work_nothing_is_touched(training: Repository) -> None:
    """It may be within the very write whose half would be taken for torn."""
    cut(training.path / "dvc.lock", 0.7)
    before = (training.path / "dvc.lock").read_bytes()
    with Repo(str(training.path)).lock:
        assert training.run("python", "-m", "tools.mend", status=1) == ""
    assert (training.path / "dvc.lock").read_bytes() == before


def test_what_dvc_cannot_open_is_left_to_its_own_words(training: Repository) -> None:
    with (training.path / ".dvc/config").open("a", encoding="utf-8") as config:
        config.write("[core\n")
    assert training.run("python", "-m", "tools.mend", status=1) == ""


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
    installed = {file: file.read_bytes() for file in Path(sys.prefix).glob("lib/*/site-packages/charlm-*/*.json")}
    assert installed or not (ROOT / ".venv/bin/charlm").exists()
    said = repository.run(make, "--no-print-directory", *OUR_VENV, "repro")
    assert all(file.read_bytes() == content for file, content in installed.items())
    assert WHO in said
    assert LOCK in said
    assert said.endswith(
        "Data and pipelines are up to date.\nThe report: reports/report.md, or open reports/report.html\n"
    )
