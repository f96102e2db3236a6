"""docs/experiments.md: every command of it, in order, in a scratch repository; and its words about numbers."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from charlm import paths
from tests.pipeline.repository import OUR_VENV, ROOT, STAGES, Repository, stages_that_ran
from tools.numbers import TUNED, values
from tools.tune import TABLE, Setting, choose, command, read_outcomes

PAGE = ROOT / "docs/experiments.md"


def blocks() -> list[str]:
    """Return the page's blocks of commands."""
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Moment:
    """What a block of commands said, and how it left things.

    Attributes:
        said: by its commands.
        changed: the files that Git sees as changed or new.
        experiments: the names of those that DVC keeps.
        params: the content of params.yaml.
    """

    said: str
    changed: set[str]
    experiments: set[str]
    params: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Walk:
    """The page, walked through."""

    repository: Repository
    moments: dict[str, Moment]

    def after(self, command: str) -> Moment:
        """Return the moment after the first block that has this command in it."""
        return next(moment for block, moment in self.moments.items() if command in block)


@pytest.fixture(scope="module")
def walk(finished: Repository, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """Run block after block in a repository whose attention tells where its code lies.

    While the experiments wait in the queue, the workspace's own code is broken.
    """
    folder = tmp_path_factory.mktemp("walk")
    repository = finished.copy(folder / "a copy")
    make = shutil.which("make")
    assert make
    (folder / "bin").mkdir()
    (folder / "bin/make").write_text(f'#!/bin/sh\nexec {make} {" ".join(OUR_VENV)} "$@"\n', encoding="utf-8")
    (folder / "bin/make").chmod(0o755)
    (repository.path / ".venv").symlink_to(sys.prefix)
    repository.environment["PATH"] = f"{folder / 'bin'}:{repository.environment['PATH']}"
    repository.environment["PYTHONPATH"] = str(repository.path / "src")  # as an editable install would have it

    with (repository.path / "src/charlm/models/attention.py").open("a", encoding="utf-8") as module:
        module.write("print('code in', __file__)\n")
    repository.run("git", "commit", "--quiet", "--all", "--message", "Say where the code lies")
    stage = repository.path / "stages/train_attention.py"
    sound = stage.read_bytes()

    moments = {}
    try:
        for block in blocks():
            said = repository.run("bash", "-euo", "pipefail", "-c", block)
            if "--queue" in block:
                stage.write_bytes(b"raise SystemExit('this is the workspace, changed after queueing')\n")
            elif "while" in block:
                stage.write_bytes(sound)
            refs = repository.run("git", "for-each-ref", "--format=%(refname)", "refs/exps").splitlines()
            moments[block] = Moment(
                said=said,
                changed={line[3:] for line in repository.run("git", "status", "--porcelain").splitlines()},
                experiments={ref.rpartition("/")[2] for ref in refs if ref.count("/") == 4},
                params=yaml.safe_load((repository.path / "params.yaml").read_text(encoding="utf-8")),
            )
        yield Walk(repository, moments)
    finally:
        repository.run("dvc", "queue", "stop", "--kill")


def test_an_experiment_runs_in_the_workspace_and_is_taken_back(walk: Walk) -> None:
    ran = walk.after("--name short")
    assert ran.params["train"]["steps"] == 1000
    assert {"params.yaml", "dvc.lock", "reports/metrics.json"} <= ran.changed
    assert set(stages_that_ran(ran.said)) == set(STAGES) - {"download", "tokenize"}

    asked = walk.after("dvc metrics diff --all").said
    assert re.search(r"^params\.yaml +train\.steps +40 +1000$", asked, re.MULTILINE)
    assert re.search(r"models\.attention\.val_loss +\d", asked)
    assert len(re.findall(r"models\.bigram\.parameters", asked)) == 1, "unchanged, and named with --all only"
    assert (walk.repository.path / "dvc_plots/index.html").is_file()

    back = walk.after("dvc checkout")
    assert (back.changed, back.experiments) == (set(), {"short"})
    assert back.params["train"]["steps"] == 40


def test_queued_experiments_run_the_code_of_their_own_copies(walk: Walk) -> None:
    queued = walk.after("--queue")
    assert queued.experiments == {"short"}
    assert [len(re.findall(rf"width-{n} .*Queued", queued.said)) for n in (1, 2, 3)] == [1, 1, 1]

    waited = walk.after("while")
    assert [len(re.findall(rf"width-{n} .*Success", waited.said)) for n in (1, 2, 3)] == [1, 1, 1]
    assert waited.experiments == {"short", "width-1", "width-2", "width-3"}
    assert waited.changed == set(), "the workspace is as it was, but for what broke it"
    places = {Path(place) for place in re.findall(r"^code in (.*)$", waited.said, re.MULTILINE)}
    assert places
    assert all(place.is_relative_to(walk.repository.path / ".dvc/tmp/exps") for place in places), places
    assert set(stages_that_ran(waited.said)) == {"train_attention", "evaluate", "plot"}


def test_experiments_are_compared(walk: Walk) -> None:
    wide, narrow = walk.after("exp show --only-changed\n").said, walk.after("--drop").said
    for name in ("short", "width-1", "width-2", "width-3"):
        assert f"[{name}]" in wide
        assert f"[{name}]" in narrow
    [header] = [line.split() for line in narrow.splitlines() if line.startswith("  Experiment")]
    wanted = {"models.attention.val_loss", "difference.val_loss", "train.steps", "attention.n_embd"}
    assert wanted <= set(header)
    assert len(header) < 10

    pair = walk.after("dvc params diff width-1").said
    assert re.search(r"^params\.yaml +attention\.n_embd +16 +128$", pair, re.MULTILINE)
    assert re.search(r"models\.attention\.parameters", pair)
    assert "models.bigram" not in pair, "the bigram table has no width"


def test_the_sweep_shows_what_the_experiments_measured(walk: Walk) -> None:
    swept = walk.after("make sweep")
    assert swept.changed == set(), "Git ignores the folder"
    folder = walk.repository.path / "reports/sweep"
    with (folder / "experiments.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["experiment"]: row for row in csv.DictReader(file)}
    widths = {name: (row["attention.n_embd"], row["train.steps"]) for name, row in rows.items()}
    assert widths == {
        "width-1": ("16", "40"),
        "main": ("32", "40"),
        "short": ("32", "1000"),
        "width-2": ("64", "40"),
        "width-3": ("128", "40"),
    }
    kept = json.loads(walk.repository.run("git", "show", "narrow:reports/metrics.json"))["models"]["attention"]
    assert rows["width-1"]["attention.val_loss"] == f"{kept['val_loss']:.4f}"
    assert rows["width-1"]["attention.val_loss_sd"] == f"{kept['val_loss_sd']:.4f}"
    assert all(row["experiment"] in swept.said for row in rows.values())
    assert (folder / "attention.n_embd.png").read_bytes().startswith(b"\x89PNG")


def test_one_is_kept_and_the_others_are_dropped(walk: Walk) -> None:
    narrow = yaml.safe_load(walk.repository.run("git", "show", "narrow:params.yaml"))
    assert narrow["attention"]["n_embd"] == 16
    applied = walk.after("dvc exp apply")
    assert applied.params["attention"]["n_embd"] == 128
    assert applied.changed == set(), "all of it is committed"
    assert walk.after("dvc exp branch").params["attention"]["n_embd"] == 32, "a branch leaves the workspace alone"
    dropped = walk.after("dvc exp remove")
    assert "short" in dropped.said
    assert dropped.experiments == set()


def test_settings_are_tried_and_the_whole_pipeline_runs_with_them(walk: Walk) -> None:
    tried = walk.after("tools.tune").said
    rows = [line for line in tried.splitlines() if re.match(r"(bigram|attention),", line)]
    assert len(rows) == 2 * 2 * 5
    assert tried.splitlines()[-1].startswith("dvc exp run -S train.schedule=")
    ran = walk.after("--name tuned")
    assert ran.experiments == {"tuned"}
    assert ran.params["train"]["schedule"] == "cosine"


def chosen_by_the_table() -> list[Setting]:
    return choose(read_outcomes(ROOT / TABLE))


def test_the_tuned_command_is_the_one_that_the_committed_table_leads_to() -> None:
    wanted = command(chosen_by_the_table()).replace("dvc exp run", "dvc exp run --name tuned")
    assert [block.strip() for block in blocks() if "--name tuned" in block] == [wanted]


def test_the_committed_tuned_results_are_of_that_setting_and_otherwise_of_the_default() -> None:
    made = json.loads((ROOT / TUNED / "provenance.json").read_bytes())
    params = yaml.safe_load((ROOT / paths.PARAMS).read_text(encoding="utf-8"))
    chosen = chosen_by_the_table()
    assert made["train"] == params["train"] | {"schedule": chosen[0].schedule}
    assert made["compute"] == params["compute"]
    assert made["corpus_sha256"] == params["data"]["sha256"]
    for setting in chosen:
        assert made["models"][setting.model]["learning_rate"] == setting.learning_rate


def test_the_words_about_the_tuned_setting_hold() -> None:
    v, losses = values(), {outcome.setting: outcome.loss for outcome in read_outcomes(ROOT / TABLE)}
    bigram, attention = chosen_by_the_table()
    rates = sorted({setting.learning_rate for setting in losses})
    next_higher = Setting("attention", attention.schedule, rates[rates.index(attention.learning_rate) + 1])
    claims = {
        "the table gains next to nothing": 0 < v["models.bigram.val_loss"] - v["tuned.models.bigram.val_loss"] < 0.003,
        "the lead nearly doubles": 1.8 < v["tuned.difference.val_loss"] / v["difference.val_loss"] < 2,
        "less by seed": v["tuned.models.attention.val_loss_sd"] < v["models.attention.val_loss_sd"],
        "far too high": next_higher.learning_rate == rates[-1] and losses[next_higher] > losses[attention] + 0.5,
        "the same schedule": bigram.schedule == attention.schedule,
    }
    assert [claim for claim, holds in claims.items() if not holds] == []
