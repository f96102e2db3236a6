"""The stage as DVC runs it: files in, files out, the same bytes wherever it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError
from charlm.report import rendering
from stages import plot
from tests.examples import CURVE, METRICS, ONE_CHARACTER_IN_SIGHT, one_model, one_seed, write_results

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ("attention_distance", "attention_map", "contexts", "gains", "loss_curves", "positions")
OUTPUTS = ("reports/report.md", "reports/report.html", *(f"reports/figures/{name}.png" for name in PICTURES))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with what the stage reads."""
    write_results(tmp_path)
    (tmp_path / "params.yaml").write_text("plot:\n  width: 6.4\n  height: 4.2\n  dpi: 50\n", encoding="utf-8")
    return tmp_path


def run(workspace: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(command or ("-m", "stages.plot"))],
        cwd=workspace,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def outputs(workspace: Path) -> list[bytes | None]:
    return [(workspace / path).read_bytes() if (workspace / path).exists() else None for path in OUTPUTS]


def drawn(workspace: Path) -> list[str]:
    return sorted(file.stem for file in (workspace / "reports/figures").iterdir())


def test_the_bytes_depend_on_the_input_alone(workspace: Path) -> None:
    assert run(workspace).returncode == 0
    first = outputs(workspace)
    assert None not in first

    settings = workspace / "matplotlibrc"
    settings.write_text(
        "font.size: 25\naxes.grid: True\nsavefig.dpi: 30\nbackend: TkAgg\naxes.formatter.use_locale: True\n"
        "axes.unicode_minus: False\nimage.cmap: gray\nlegend.fontsize: 3\n",
        encoding="utf-8",
    )
    other = run(
        workspace,
        MATPLOTLIBRC=str(settings),
        LC_ALL="C",
        TZ="Asia/Tokyo",
        PYTHONHASHSEED="7",
        DISPLAY="",
        PYTHONUTF8="0",
    )
    assert other.returncode == 0, other.stderr
    assert outputs(workspace) == first


@pytest.mark.parametrize("module", ["torch", "matplotlib.pyplot"])
def test_what_takes_long_to_import_is_left_alone(workspace: Path, module: str) -> None:
    code = f"import sys, stages.plot; stages.plot.main(); sys.exit({module!r} in sys.modules)"
    assert run(workspace, "-c", code).returncode == 0


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({"metrics": one_seed()}, set()),
        ({"metrics": one_model()}, {"gains", "attention_map", "attention_distance"}),
        ({"metrics": one_model("attention"), "pairs": []}, {"gains"}),
        ({"attention": {}, "pairs": []}, {"attention_map", "attention_distance"}),
        ({"metrics": METRICS | {"counts": {}}}, {"contexts"}),
        (ONE_CHARACTER_IN_SIGHT, {"positions", "attention_map", "attention_distance"}),
        ({"metrics": {key: METRICS[key] for key in METRICS if key != "floor"}}, set()),
    ],
    ids=["one seed", "one model", "only attention", "no attention", "no counts", "one in sight", "no floor"],
)
def test_a_report_comes_out_whatever_is_missing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], missing: set[str]
) -> None:
    monkeypatch.chdir(workspace)
    write_results(workspace, **changed)
    plot.main()
    assert drawn(workspace) == sorted(set(PICTURES) - missing)
    markdown = (workspace / "reports/report.md").read_text(encoding="utf-8")
    html = (workspace / "reports/report.html").read_text(encoding="utf-8")
    for name in PICTURES:
        assert (f"](figures/{name}.png)" in markdown) == (name not in missing)
    assert html.count("<img ") == len(PICTURES) - len(missing)


@pytest.mark.parametrize(
    ("path", "content", "complaint"),
    [
        ("reports/metrics.json", None, "reports/metrics.json is not here"),
        ("reports/metrics.json", "{}", "reports/metrics.json: models: Field required"),
        ("reports/samples.json", '{"prompt": ""', "reports/samples.json: Invalid JSON"),
        ("reports/curves/attention.csv", None, "reports/curves/attention.csv is not here"),
        ("reports/curves/attention.csv", CURVE + "2,110,,1\n", "reports/curves/attention.csv lacks a finite number"),
        ("reports/details/positions.csv", None, "reports/details/positions.csv is not here"),
        ("reports/details/characters.csv", "model\n", "reports/details/characters.csv is not a table"),
        ("reports/details/attention.json", '{"a": {"text": "ab"}}', "reports/details/attention.json: a.weights: Field"),
        ("reports/details/pairs.json", "{}", "reports/details/pairs.json: Input should be a valid array"),
        ("reports/details/provenance.json", "{}", "reports/details/provenance.json: corpus_sha256: Field required"),
        (
            "params.yaml",
            "plot:\n  width: 8\n  height: 4.5\n  dpi: 5\n",
            "plot.dpi is 5; it wants whole pixels per inch",
        ),
        (
            "params.yaml",
            "plot:\n  width: 8\n  hight: 4.5\n  dpi: 50\n",
            "plot.hight is not a known key; did you mean 'height'?",
        ),
    ],
)
def test_a_broken_input_is_one_line_and_changes_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, path: str, content: str | None, complaint: str
) -> None:
    monkeypatch.chdir(workspace)
    for output in OUTPUTS:
        (workspace / output).parent.mkdir(exist_ok=True)
        (workspace / output).write_bytes(b"as it was")
    (workspace / path).unlink()
    if content is not None:
        (workspace / path).write_text(content, encoding="utf-8")

    with pytest.raises(CharlmError) as caught:
        plot.main()
    assert "\n" not in str(caught.value)
    assert complaint in str(caught.value)
    assert set(outputs(workspace)) == {b"as it was"}
    assert not list(workspace.rglob("*.tmp"))


def test_a_report_that_cannot_be_made_leaves_the_pictures_as_they_were(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise CharlmError("no report")

    monkeypatch.chdir(workspace)
    monkeypatch.setattr(rendering, "html", fail)
    with pytest.raises(CharlmError, match="no report"):
        plot.main()
    assert set(outputs(workspace)) == {None}


def test_the_committed_report_is_what_the_committed_results_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = {path.relative_to(ROOT): path.read_bytes() for path in (ROOT / "reports").rglob("*") if path.is_file()}
    for path, content in committed.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name != "figures" and path.stem != "report":
            (tmp_path / path).write_bytes(content)
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    plot.main()
    made = {
        path.relative_to(tmp_path): path.read_bytes() for path in (tmp_path / "reports").rglob("*") if path.is_file()
    }
    assert set(made) == set(committed)
    assert [str(path) for path, content in made.items() if content != committed[path]] == []
    metrics = json.loads(committed[Path("reports/metrics.json")])
    assert f"{metrics['models']['bigram']['val_loss']:.4f}" in made[Path("reports/report.md")].decode()
