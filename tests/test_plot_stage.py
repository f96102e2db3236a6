"""The stage as DVC runs it: files in, files out, the same bytes wherever it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from charlm import report
from charlm.errors import CharlmError
from stages import plot

ROOT = Path(__file__).resolve().parent.parent
OUTPUTS = ("reports/figures/loss_curves.png", "reports/report.md")

MODEL = {
    "parameters": 10, "train_loss": 2.4, "val_loss": 2.5, "val_loss_sd": 0.01, "val_bits": 3.6, "val_perplexity": 12.2,
    "val_accuracy": 0.27,
}  # fmt: skip
MODELS = ("bigram", "attention")
METRICS = {
    "models": dict.fromkeys(MODELS, MODEL),
    "difference": {"val_loss": -0.1, "val_loss_sd": 0.01, "val_bits": -0.14},
    "counts": {"uniform": {"train_loss": 4.2, "val_loss": 4.2}, "bigram": {"train_loss": 2.45, "val_loss": 2.48}},
    "tokens": {"train": 900, "val": 100},
    "seeds": 2,
}
SAMPLES = {"prompt": "", "seed": 1, "length": 3, "texts": [{"model": "bigram", "temperature": 1.0, "text": "é漢`"}]}
CURVE = "seed,step,train_loss,val_loss\n" + "".join(
    f"{seed},{step},{2.4 + 2 / (1 + step) + seed / 100:.6f},{2.45 + 2 / (1 + step):.6f}\n"
    for seed in (1, 2)
    for step in range(0, 101, 10)
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with what the stage reads."""
    (tmp_path / "reports/curves").mkdir(parents=True)
    (tmp_path / "params.yaml").write_text("plot:\n  width: 8\n  height: 4.5\n  dpi: 50\n")
    (tmp_path / "reports/metrics.json").write_text(json.dumps(METRICS))
    (tmp_path / "reports/samples.json").write_text(json.dumps(SAMPLES))
    for model in MODELS:
        (tmp_path / f"reports/curves/{model}.csv").write_text(CURVE)
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


def test_the_bytes_depend_on_the_input_alone(workspace: Path) -> None:
    assert run(workspace).returncode == 0
    first = outputs(workspace)
    assert None not in first

    settings = workspace / "matplotlibrc"
    settings.write_text(
        "font.size: 25\naxes.grid: True\nsavefig.dpi: 30\nbackend: TkAgg\naxes.formatter.use_locale: True\n"
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
    ("path", "content", "complaint"),
    [
        ("reports/metrics.json", None, "reports/metrics.json is not here"),
        ("reports/metrics.json", "{}", "reports/metrics.json: models: Field required"),
        ("reports/samples.json", '{"prompt": ""', "reports/samples.json: Invalid JSON"),
        ("reports/curves/attention.csv", None, "reports/curves/attention.csv is not here"),
        ("reports/curves/attention.csv", CURVE + "2,110,nan,1\n", "reports/curves/attention.csv lacks a finite loss"),
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
    workspace: Path, path: str, content: str | None, complaint: str
) -> None:
    for output in OUTPUTS:
        (workspace / output).parent.mkdir(exist_ok=True)
        (workspace / output).write_bytes(b"as it was")
    (workspace / path).unlink()
    if content is not None:
        (workspace / path).write_text(content)

    process = run(workspace)
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1
    assert process.stderr.startswith("error: ")
    assert complaint in process.stderr
    assert outputs(workspace) == [b"as it was", b"as it was"]
    assert not list(workspace.rglob("*.tmp"))


def test_a_report_that_cannot_be_written_leaves_the_picture_as_it_was(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: report.Content) -> str:
        raise CharlmError("no report")

    monkeypatch.chdir(workspace)
    monkeypatch.setattr(report, "markdown", fail)
    with pytest.raises(CharlmError, match="no report"):
        plot.main()
    assert outputs(workspace) == [None, None]
