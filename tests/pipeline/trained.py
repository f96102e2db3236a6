"""What a training that was interrupted says and leaves."""

import re
from typing import Any

import yaml

from tests.pipeline.repository import Repository

STOPPED = "stopped; each run is kept as of its last evaluation, and `dvc repro` carries on from there"
CARRIES_ON = re.compile(r"^seed (\d) carries on from step (\d+)$", re.MULTILINE)


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
