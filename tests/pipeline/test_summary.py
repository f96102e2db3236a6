"""`.github/summary.sh`: what a pull request changes, from the clones that GitHub makes."""

import json
from pathlib import Path

import pytest

from tests.pipeline.repository import Repository

WIDER = "reports/metrics.json"
PICTURE = "https://example.com/loss_curves.png"


@pytest.fixture
def proposed(repository: Repository) -> Repository:
    """The finished repository on a branch `wider`, where a parameter and a metric are others than on main."""
    repository.run("git", "checkout", "--quiet", "-b", "wider")
    repository.set(attention__n_embd="48")
    file = repository.path / WIDER
    metrics = json.loads(file.read_text(encoding="utf-8"))
    metrics["models"]["attention"]["val_loss"] = 1.25
    file.write_text(json.dumps(metrics), encoding="utf-8")
    repository.run("git", "commit", "--quiet", "--all", "--message", "As if it had been trained wider")
    return repository


def clone(repository: Repository, path: Path, branch: str, *options: str) -> Repository:
    # By its URL, since Git takes a depth only where it takes a clone over a wire.
    repository.run("git", "clone", "--quiet", "--branch", branch, *options, repository.path.as_uri(), str(path))
    environment = repository.environment | {"PICTURE_URL": PICTURE}
    return Repository(path, environment)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")]


@pytest.mark.parametrize(("base", "options"), [("origin/main", []), ("main", ["--depth=1"])])
def test_it_shows_parameters_metrics_and_the_picture(
    base: str, options: list[str], proposed: Repository, tmp_path: Path
) -> None:
    old = json.loads(proposed.run("git", "show", f"main:{WIDER}"))["models"]["attention"]["val_loss"]
    checkout = clone(proposed, tmp_path / "a clone", "wider", *options)

    said = checkout.run(".github/summary.sh", base).splitlines()

    rows = [cells(line) for line in said if line.startswith("| ")]
    assert ["params.yaml", "attention.n_embd", "32", "48"] in rows
    [metric] = [row for row in rows if row[1:2] == ["models.attention.val_loss"]]
    assert float(metric[2]) == pytest.approx(old, abs=1e-4)
    assert float(metric[3]) == 1.25
    assert len(rows) == 4, "a head and a row in each table: nothing else has changed"
    assert [line for line in said if line.startswith("## ")] == ["## Parameters", "## Metrics", "## Loss by step"]
    assert said[-1] == f"![Loss of each model by step]({PICTURE})"
    assert checkout.run("git", "status", "--porcelain") == ""


def test_it_says_when_nothing_changed(proposed: Repository, tmp_path: Path) -> None:
    checkout = clone(proposed, tmp_path / "a clone", "main")
    said = checkout.run(".github/summary.sh", "origin/main")
    assert "No parameter changed." in said
    assert "No metric changed." in said


def test_it_fails_where_it_cannot_compare(proposed: Repository, tmp_path: Path) -> None:
    checkout = clone(proposed, tmp_path / "a clone", "wider", "--depth=1")
    assert "couldn't find remote ref nowhere" in checkout.run(".github/summary.sh", "nowhere", status=128)
