"""Scratch repositories with the pipeline in them."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pipeline import killing
from tests.pipeline.killing import Death, Running, Starter
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
    repository.environment.update({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "3"})  # test_same_bytes.py has others
    assert set(repository.repro()) == set(STAGES)
    repository.commit("What came out")
    return repository


@pytest.fixture
def repository(finished: Repository, tmp_path: Path) -> Repository:
    """A copy of the finished repository that a test may change."""
    return finished.copy(tmp_path / "a copy of it")


@pytest.fixture(scope="session")
def untrained(fresh: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A clone in which all before the training has run. Not to be changed: copy it."""
    repository = fresh.clone(tmp_path_factory.mktemp("untrained") / "a clone with tokens")
    repository.environment["SHELL"] = "/bin/sh"  # what DVC takes where nobody set the variable
    repository.run("dvc", "repro", "tokenize")
    repository.commit("Tokens")
    return repository


@pytest.fixture
def training(untrained: Repository, tmp_path: Path) -> Repository:
    """A copy of it that a test may change."""
    return untrained.copy(tmp_path / "a copy to train in")


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
