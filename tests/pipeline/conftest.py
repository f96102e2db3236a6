"""Scratch repositories with the pipeline in them."""

from pathlib import Path

import pytest

from tests.pipeline.repository import CHARACTERS, STAGES, Repository, make


@pytest.fixture(scope="session")
def fresh(corpus_text: str, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The committed pipeline before any run. Not to be changed: clone it."""
    folder = tmp_path_factory.mktemp("scratch")
    return make(folder / "a fresh repository", corpus_text[:CHARACTERS], folder / "kept elsewhere")


@pytest.fixture(scope="session")
def finished(fresh: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A clone in which the pipeline has run, and its results are committed. Not to be changed: copy it."""
    repository = fresh.clone(tmp_path_factory.mktemp("finished") / "a clone that ran")
    assert set(repository.repro()) == set(STAGES)
    repository.run("git", "add", "--all")
    repository.run("git", "commit", "--quiet", "--message", "What came out")
    return repository


@pytest.fixture
def repository(finished: Repository, tmp_path: Path) -> Repository:
    """A copy of the finished repository that a test may change."""
    return finished.copy(tmp_path / "a copy of it")
