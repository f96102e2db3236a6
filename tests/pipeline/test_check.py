"""`make check`: what does not fit is found and named, and what fits passes, whether data is here or not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.faults import CAME_OUT, FAULTS, METRICS
from tests.pipeline.repository import ROOT, Repository
from tools.check import check


@pytest.fixture(scope="module")
def unspoilt(finished: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A fresh clone of the finished repository: no data, no checkpoints, no cache."""
    return finished.clone(tmp_path_factory.mktemp("check") / "a clone")


@pytest.fixture
def clone(unspoilt: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """The same, as the current folder, put back after the test."""
    monkeypatch.chdir(unspoilt.path)
    for name, value in unspoilt.environment.items():
        monkeypatch.setenv(name, value)
    yield unspoilt
    unspoilt.run("git", "reset", "--quiet", "--hard")


def run(repository: Repository, status: int = 0) -> str:
    """Run it as a program."""
    repository.environment["PYTHONPATH"] = str(ROOT)
    return repository.run(sys.executable, "-m", "tools.check", status=status)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("clone")
def test_what_does_not_fit_is_named_with_its_stage_and_nothing_else_is(fault: str) -> None:
    break_it, expected = FAULTS[fault]
    break_it()
    lines = [str(found) for found in check()]
    assert len(lines) == len(expected), lines
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(begin)
        assert "\n" not in line


def test_a_fault_ends_the_program_with_status_1(clone: Repository) -> None:
    Path(METRICS).unlink()
    assert run(clone, status=1) == f"evaluate: {METRICS} is missing; run `dvc repro`\n"


@pytest.mark.parametrize("place", ["unspoilt", "finished", "fresh"])
def test_what_fits_passes_with_and_without_data_and_before_the_first_run(
    place: str, request: pytest.FixtureRequest
) -> None:
    assert run(request.getfixturevalue(place)) == "The pipeline, its results and its lock file fit together.\n"


def test_a_change_that_was_run_passes(repository: Repository) -> None:
    repository.set(plot__dpi="61")
    repository.repro()
    assert "fit together" in run(repository)


def test_texts_that_dvc_does_not_see_or_keeps_as_a_folder_pass(repository: Repository) -> None:
    texts = repository.path / "texts"
    for name in (".an editor's/a.txt", "plays/.old/a.txt", "plays/a.txt", "plays/acts/b.txt"):
        (texts / name).parent.mkdir(parents=True, exist_ok=True)
        (texts / name).write_text(f"{name}\n", encoding="utf-8")
    lacking = "is not in Git, so a clone lacks it; `git add` it"
    repository.repro()
    said = run(repository, status=1).splitlines()
    assert said == [f"download: texts/plays/{name} {lacking}" for name in ("a.txt", "acts/b.txt")]

    repository.run("dvc", "add", "texts/plays")
    said = run(repository, status=1).splitlines()
    assert f"download: texts/plays.dvc {lacking}" in said

    repository.run("git", "add", "texts/plays.dvc", "texts/.gitignore")
    repository.repro()
    assert "fit together" in run(repository)
    repository.run("git", "rm", "--quiet", "--cached", "texts/plays.dvc")
    said = run(repository, status=1).splitlines()
    assert said == [f"download: texts/{name} {lacking}" for name in ("plays/a.txt", "plays/acts/b.txt", "plays.dvc")]


def test_damaged_data_does_not_pass(repository: Repository) -> None:
    (repository.path / "data/tokens/val.npy").write_bytes(b"damaged")
    assert run(repository, status=1) == (f"tokenize: data/tokens/val.npy {CAME_OUT}\n")


def test_outside_of_git_it_is_one_line(repository: Repository) -> None:
    (repository.path / ".git").rename(repository.path.parent / "no longer here")
    (repository.path / ".dvc/config").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    said = run(repository, status=1)
    assert said.startswith("error: git cannot list its files here: fatal: not a git repository")
    assert said.count("\n") == 1
