"""The Git hooks of .pre-commit-config.yaml: each passes what is in order, and stops what is not.

Each entry is run as pre-commit would run it, from the repository's root and with or without the names of the files.
"""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pipeline.repository import ROOT, Repository

CONFIG: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
HOOKS: dict[str, dict[str, Any]] = {hook["id"]: hook for repo in CONFIG["repos"] for hook in repo["hooks"]}
MODULE = "src/charlm/errors.py"


@pytest.fixture(scope="module")
def at_work(finished: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A finished repository with an environment of its own that takes everything from ours."""
    repository = finished.copy(tmp_path_factory.mktemp("hooks") / "a copy")
    (repository.path / "tests").mkdir()
    (repository.path / "tests/test_nothing.py").touch()  # mypy wants the folder
    cache = ROOT / ".mypy_cache"
    if cache.is_dir():  # what `make lint` has read of the libraries saves time
        shutil.copytree(cache, repository.path / cache.name)
    environment = repository.path / ".venv"
    environment.mkdir()
    for file in Path(sys.prefix).iterdir():
        if file.name != ".installed":
            (environment / file.name).symlink_to(file)
    (environment / ".installed").touch()  # newer than requirements.lock, so that make installs nothing
    return repository


def run(repository: Repository, hook: dict[str, Any], status: int) -> str:
    names = [MODULE] if hook.get("pass_filenames", True) else []
    return repository.run(*shlex.split(hook["entry"]), *names, status=status)


def test_every_hook_runs_what_this_repository_pins() -> None:
    assert [repo["repo"] for repo in CONFIG["repos"]] == ["local"]
    assert all(hook["language"] == "system" for hook in HOOKS.values())
    assert {stage for hook in HOOKS.values() for stage in hook.get("stages", CONFIG["default_stages"])} == set(
        CONFIG["default_install_hook_types"]
    )


def test_every_hook_lets_pass_what_is_in_order(at_work: Repository) -> None:
    for hook in HOOKS.values():
        run(at_work, hook, status=0)
    assert at_work.run("git", "status", "--porcelain") == "?? tests/\n", "and changes nothing"


FAULTS = {
    "ruff-check": ("\nimport os\n", 1, "F401"),
    "ruff-format": ("\nx  =  1\n", 1, "would be reformatted"),
    "mypy": ('\nx: int = "one"\n', 1, "Incompatible types in assignment"),
    "results": ("\nX = 1\n", 2, "errors.py is not the file that was used"),
}


@pytest.mark.parametrize("name", HOOKS)
def test_each_hook_stops_what_is_not(name: str, at_work: Repository) -> None:
    added, status, reason = FAULTS[name]
    module = at_work.path / MODULE
    before = module.read_bytes()
    module.write_bytes(before + added.encode())
    try:
        assert reason in run(at_work, HOOKS[name], status)
    finally:
        module.write_bytes(before)
