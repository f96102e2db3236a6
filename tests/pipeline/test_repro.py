"""The pipeline as DVC runs it, in scratch repositories whose paths hold spaces."""

import json
from pathlib import Path

import pytest

from tests.pipeline.repository import ROOT, STAGES, Repository, stages_that_ran

TRAINING = {"train_bigram", "train_attention"}


def test_a_fresh_run_leaves_what_is_declared_and_nothing_else(fresh: Repository, finished: Repository) -> None:
    added = finished.run("git", "diff", "--name-status", "HEAD^", "HEAD").splitlines()
    assert [line.split("\t") for line in sorted(added)] == [
        ["A", "dvc.lock"],
        ["A", "reports/curves/attention.csv"],
        ["A", "reports/curves/bigram.csv"],
        ["A", "reports/details/attention.json"],
        ["A", "reports/details/characters.csv"],
        ["A", "reports/details/pairs.json"],
        ["A", "reports/details/positions.csv"],
        ["A", "reports/details/provenance.json"],
        ["A", "reports/figures/attention_distance.png"],
        ["A", "reports/figures/attention_map.png"],
        ["A", "reports/figures/contexts.png"],
        ["A", "reports/figures/gains.png"],
        ["A", "reports/figures/loss_curves.png"],
        ["A", "reports/figures/positions.png"],
        ["A", "reports/metrics.json"],
        ["A", "reports/report.html"],
        ["A", "reports/report.md"],
        ["A", "reports/samples.json"],
    ]
    assert finished.run("git", "status", "--porcelain") == ""

    cached = {str(file.relative_to(finished.path)) for file in _files_in(finished.path, "data", "checkpoints")}
    assert cached == {
        "data/raw/corpus.txt",
        "data/tokens/vocabulary.json",
        "data/tokens/train.npy",
        "data/tokens/val.npy",
        *(f"checkpoints/{model}/seed-{seed}.safetensors" for model in ("bigram", "attention") for seed in (1, 2)),
    }


def test_a_second_run_does_no_work(repository: Repository) -> None:
    before = repository.files()
    assert "Data and pipelines are up to date." in repository.run("dvc", "repro")
    assert repository.files() == before
    assert repository.stale() == set()


def test_a_change_runs_all_that_follows_and_taking_it_back_trains_nothing(repository: Repository) -> None:
    before = repository.files()
    repository.set(tokenize__val_fraction="0.2")
    assert set(repository.repro()) == set(STAGES) - {"download"}
    changed = {name for name, content in repository.files().items() if content != before[name]}
    assert changed == set(before) - {"reports/details/provenance.json"}  # of the corpus, not of its split

    repository.run("git", "checkout", "--quiet", "params.yaml")
    assert not TRAINING & set(repository.repro())
    assert repository.files() == before


def test_an_experiment_in_a_copy_runs_the_code_of_the_copy(repository: Repository) -> None:
    """`dvc exp run --temp` copies the workspace; the stages must import what lies beside them there."""
    repository.environment["PYTHONPATH"] = str(repository.path / "src")  # as an editable install would have it
    with (repository.path / "src/charlm/palette.py").open("a", encoding="utf-8") as module:
        module.write("print('code in', __file__)\n")
    repository.run("git", "commit", "--quiet", "--all", "--message", "Say where the code lies")
    before = repository.files()

    said = repository.run("dvc", "exp", "run", "--temp", "--set-param", "plot.dpi=61")

    places = {line.removeprefix("code in ") for line in said.splitlines() if line.startswith("code in ")}
    assert places, said
    assert stages_that_ran(said) == ["plot"]
    assert all(Path(place).is_relative_to(repository.path / ".dvc/tmp/exps") for place in places), places
    assert repository.files() == before, "the workspace is as it was"
    shown = repository.json("dvc", "exp", "show", "--json")
    experiments = [experiment for revision in shown for experiment in revision["experiments"] or []]
    assert len(experiments) == 1
    assert experiments[0]["revs"][0]["data"]["params"]["params.yaml"]["data"]["plot"]["dpi"] == 61


def test_params_diff_names_the_change(repository: Repository) -> None:
    repository.set(attention__n_embd="16")
    assert repository.json("dvc", "params", "diff", "--json") == {
        "params.yaml": {"attention.n_embd": {"old": 32, "new": 16, "diff": -16}}
    }


def test_metrics_show_both_models_and_their_difference(finished: Repository) -> None:
    metrics = finished.json("dvc", "metrics", "show", "--json")[""]["data"]["reports/metrics.json"]["data"]
    assert set(metrics["models"]) == {"bigram", "attention"}
    assert metrics["difference"]["val_loss"] == pytest.approx(
        metrics["models"]["attention"]["val_loss"] - metrics["models"]["bigram"]["val_loss"], abs=1e-5
    )


def test_the_curves_are_one_chart_of_two_models_and_two_splits(finished: Repository) -> None:
    rows = drawn_by_our_template(finished, "dvc", "plots", "show", "--json")
    assert {row["rev"] for row in rows} == {"workspace"}
    assert {(row["seed"], row["step"]) for row in rows} == {
        (seed, step) for seed in ("1", "2") for step in ("0", "20", "40")
    }
    assert "failed" not in finished.run("dvc", "plots", "show")


def test_a_diff_shows_the_same_curves_of_both_revisions_side_by_side(repository: Repository) -> None:
    file = repository.path / "reports/curves/attention.csv"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace("\n1,40,", "\n1,41,"), encoding="utf-8")
    rows = drawn_by_our_template(repository, "dvc", "plots", "diff", "--json")
    assert {row["rev"] for row in rows} == {"HEAD", "workspace"}
    for rev, steps in (("HEAD", {"0", "20", "40"}), ("workspace", {"0", "20", "40", "41"})):
        of = [row for row in rows if row["rev"] == rev]
        assert {row["step"] for row in of if row["filename"].endswith("attention.csv")} == steps
        assert {row["step"] for row in of if row["filename"].endswith("bigram.csv")} == {"0", "20", "40"}


def drawn_by_our_template(repository: Repository, *command: str) -> list[dict[str, str]]:
    """Return the rows of the one chart that .dvc/plots/loss_curves.json draws: of two models and two splits."""
    charts = repository.json(*command)["data"]
    contents = [chart.get("content", {}) for charts_of_a_name in charts.values() for chart in charts_of_a_name]
    [ours] = [content for content in contents if "facet" in content]
    template = json.loads((ROOT / ".dvc/plots/loss_curves.json").read_text(encoding="utf-8"))
    assert ours["description"] == template["description"]
    assert ours["facet"]["column"]["field"] == "rev", "a panel for each revision"
    assert "<DVC_METRIC" not in str(ours)
    rows: list[dict[str, str]] = ours["data"]["values"]
    assert {(Path(row["filename"]).stem, row["field"]) for row in rows} == {
        (model, split) for model in ("bigram", "attention") for split in ("train_loss", "val_loss")
    }
    return rows


def test_a_bad_parameter_is_one_line_and_changes_no_result(repository: Repository) -> None:
    lock = (repository.path / "dvc.lock").read_bytes()
    repository.set(attention__n_embd="0")
    said = repository.run("dvc", "repro", status=255)
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "attention.n_embd is 0" in errors[0]
    assert "Traceback" not in said
    assert (repository.path / "dvc.lock").read_bytes() == lock

    repository.run("git", "checkout", "--quiet", "params.yaml")
    assert repository.repro() == []
    assert repository.run("git", "status", "--porcelain") == ""


def _files_in(root: Path, *folders: str) -> list[Path]:
    return [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
