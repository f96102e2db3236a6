"""Experiments become a table and a picture; what stands there is what they measured."""

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from charlm.errors import CharlmError
from charlm.figures.style import Size
from charlm.palette import styles
from charlm.results import Metrics
from tests.pipeline.repository import ROOT
from tools import sweep as module
from tools.sweep import Experiment, choose, markdown, read, sweep, what_varies

PARAMS: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
METRICS: dict[str, Any] = json.loads((ROOT / "reports/metrics.json").read_bytes())
SIZE = Size(6.4, 4.2, 60)


def data(changes: dict[str, Any], losses: tuple[float, float] = (2.5, 2.4), sd: float | None = 0.01) -> dict[str, Any]:
    """Return what `dvc exp show` tells of one run: our parameters and results, but for these."""
    params, metrics = json.loads(json.dumps([PARAMS, METRICS]))
    for name, value in changes.items():
        section, key = name.split(".")
        params[section][key] = value
    for model, loss in zip(("bigram", "attention"), losses, strict=True):
        metrics["models"][model] |= {"val_loss": loss, "val_loss_sd": sd}
    return {"params": {"params.yaml": {"data": params}}, "metrics": {"reports/metrics.json": {"data": metrics}}}


def experiment(name: str, content: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name, "executor": None, "revs": [{"rev": "0" * 40, "name": name, "data": content}]}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `dvc exp show` answers: to be filled. We are in a folder with our parameters."""
    answer: list[Any] = []

    def answering(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        assert command[-3:] == ["exp", "show", "--json"]
        return subprocess.CompletedProcess(command, 0, json.dumps(answer), "")

    monkeypatch.setattr(subprocess, "run", answering)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    return answer


def fill(shown: list[Any], *experiments: dict[str, Any], commit: dict[str, Any] | None = None) -> None:
    workspace = {"rev": "workspace", "name": None, "data": data({"attention.n_embd": 7}), "experiments": None}
    shown[:] = [workspace, {"rev": "f" * 40, "name": "main", "data": commit or data({}), "experiments": experiments}]


def test_table_and_picture_come_from_the_commit_and_its_finished_experiments(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = {"params": {"params.yaml": {"data": PARAMS}}, "metrics": {}}
    wide, narrow = data({"attention.n_embd": 64}, (2.5, 2.345), 0.004), data({"attention.n_embd": 16}, (2.5, 2.45))
    fill(shown, experiment("wide", wide), experiment("waits", waiting), experiment("narrow", narrow),
         experiment("broken", None))  # fmt: skip
    monkeypatch.setattr("sys.argv", ["sweep"])
    module.main()

    with Path("reports/sweep/experiments.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["experiment"], row["attention.n_embd"]) for row in rows] == [
        ("narrow", "16"), ("main", "32"), ("wide", "64")
    ]  # fmt: skip
    assert [(row["attention.val_loss"], row["attention.val_loss_sd"]) for row in rows] == [
        ("2.4500", "0.0100"), ("2.4000", "0.0100"), ("2.3450", "0.0040")
    ]  # fmt: skip
    assert set(rows[0]) == {"experiment", "attention.n_embd"} | {
        f"{model}.{key}" for model in METRICS["models"] for key in ("val_loss", "val_loss_sd")
    }
    said, told = capsys.readouterr()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in said.splitlines()]
    assert cells[0] == list(rows[0])
    assert cells[2:] == [list(row.values()) for row in rows]
    assert "left out, since they have no results yet: waits, broken" in told
    picture = Path("reports/sweep/attention.n_embd.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    module.main()
    assert Path("reports/sweep/attention.n_embd.png").read_bytes() == picture


def runs(**values: tuple[Any, float]) -> list[Experiment]:
    """Return an experiment for each name: a value of attention.n_embd, and attention's loss."""
    found = []
    for name, (value, loss) in values.items():
        metrics = Metrics.model_validate(
            data({}, (2.5, loss))["metrics"]["reports/metrics.json"]["data"]
        )  # its sd is 0.01
        found.append(Experiment(name, {"attention.n_embd": value, "train.seeds": [1, 2]}, metrics.models))
    return found


def drawn(experiments: list[Experiment], varying: list[str]) -> tuple[Axes, str]:
    figure = sweep(experiments, "attention.n_embd", varying, styles(["bigram", "attention"]), SIZE)
    return figure.axes[0], "\n".join(text.get_text() for text in figure.texts)


def bars(axes: Axes) -> list[tuple[str, list[list[float]], list[list[list[float]]]]]:
    """Return of each model the line style, the points, and the ends of the bars."""
    found = []
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        line, _, (columns,) = container.lines
        ends = [np.asarray(segment).tolist() for segment in columns.get_segments()]
        found.append((str(line.get_linestyle()), np.column_stack(line.get_data()).tolist(), ends))
    return found


def test_points_stand_at_their_value_with_a_bar_of_one_sd() -> None:
    axes, said = drawn(runs(a=(64, 2.3), b=(16, 2.45), c=(32, 2.4)), ["attention.n_embd"])
    _, (style, points, ends) = bars(axes)
    assert style == "-"
    assert points == [[16, 2.45], [32, 2.4], [64, 2.3]]
    assert np.allclose(ends, [[[x, y - 0.01], [x, y + 0.01]] for x, y in points])
    assert "Mean of 2 seeds, bars ± 1 sd." in said
    assert "3 runs" in said
    assert axes.get_xscale() == "linear"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["64", "16", "32"]


def test_a_wide_range_has_a_logarithmic_axis() -> None:
    axes, _ = drawn(runs(a=(0.001, 2.3), b=(0.1, 2.45)), ["attention.n_embd"])
    assert axes.get_xscale() == "log"


def test_words_stand_side_by_side_and_are_not_joined() -> None:
    axes, _ = drawn(runs(a=("constant", 2.3), b=("cosine", 2.45), c=("constant", 2.31)), ["attention.n_embd"])
    _, (style, points, _) = bars(axes)
    assert style == "None"
    assert points == [[0, 2.3], [0, 2.31], [1, 2.45]]
    assert {tick.get_text() for tick in axes.get_xticklabels()} == {"constant", "cosine"}


def test_what_varies_besides_is_said_and_nothing_is_joined() -> None:
    axes, said = drawn(runs(a=(16, 2.3), b=(32, 2.45)), ["attention.n_embd", "train.steps"])
    assert [style for style, _, _ in bars(axes)] == ["None", "None"]
    assert "Other parameters differ as well: train.steps." in said


def test_what_varies_is_found() -> None:
    experiments = runs(a=(16, 2.3), b=(16, 2.45))
    assert what_varies(experiments) == []
    assert what_varies([*experiments, *runs(c=(17, 2.3))]) == ["attention.n_embd"]


@pytest.mark.parametrize(
    ("wanted", "varying", "complaint"),
    [
        ("attention.width", ["a.b"], "params.yaml has no attention.width; what varies is a.b"),
        ("c.d", ["a.b"], "c.d has one value in all experiments; what varies is a.b"),
        (None, ["a.b", "c.d"], "a.b, c.d vary; name one for the picture: make sweep ARGS='--param a.b'"),
        (None, [], "the experiments have the parameters of their commit and no others; `dvc exp run --queue"),
    ],
)
def test_a_choice_that_is_none_is_one_line(wanted: str | None, varying: list[str], complaint: str) -> None:
    with pytest.raises(CharlmError) as error:
        choose(wanted, varying, ["a.b", "c.d"])
    assert str(error.value).startswith(complaint)


def test_no_experiments_name_the_command_that_makes_some(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fill(shown)
    monkeypatch.setattr("sys.argv", ["sweep"])
    with pytest.raises(CharlmError) as error:
        module.main()
    assert str(error.value) == (
        "there is no finished experiment on this commit; `dvc exp run --queue -S attention.n_embd=16,64` and "
        "`dvc queue start` make some"
    )


def test_experiments_count_where_the_commit_itself_has_no_results(shown: list[Any]) -> None:
    fill(shown, experiment("one", data({})), commit={"params": {}, "metrics": {}})
    experiments, unfinished = read()
    assert ([one.name for one in experiments], unfinished) == (["one"], ["main"])


def test_on_no_branch_the_commit_is_named_by_its_hash(shown: list[Any]) -> None:
    fill(shown, experiment("one", data({})), commit={"params": {}, "metrics": {}})
    shown[1]["name"] = None
    assert read()[1] == ["f" * 7]
    shown[1]["data"] = data({})
    assert [one.name for one in read()[0]] == ["f" * 7, "one"]


def test_a_cell_breaks_no_table() -> None:
    assert markdown(["a", "b"], [["x|y", 1]]).splitlines() == ["| a    | b |", "|:-----|:--|", "| x\\|y | 1 |"]
