"""`make verify`, on the small pipeline: what is committed reproduces, and what was altered does not."""

import re
import sys
from pathlib import Path

import pytest

from charlm import paths
from tests.pipeline.repository import ROOT, Repository
from tools import golden, stack, verify
from tools.compare import Finding
from tools.pipeline import locked

OUTPUTS = (
    "data/raw/corpus.txt",
    "data/tokens/train.npy",
    "data/tokens/val.npy",
    "data/tokens/vocabulary.json",
    "checkpoints/bigram",
    "reports/curves/bigram.csv",
    "checkpoints/attention",
    "reports/curves/attention.csv",
    "reports/details/attention.json",
    "reports/details/characters.csv",
    "reports/details/pairs.json",
    "reports/details/positions.csv",
    "reports/details/provenance.json",
    "reports/samples.json",
    "reports/metrics.json",
    "reports/report.html",
    "reports/report.md",
    "reports/figures/attention_distance.png",
    "reports/figures/attention_map.png",
    "reports/figures/contexts.png",
    "reports/figures/gains.png",
    "reports/figures/loss_curves.png",
    "reports/figures/positions.png",
)


def run(repository: Repository, scratch: Path, *arguments: str, status: int) -> tuple[list[str], dict[str, str]]:
    """Run it as a program; return all lines, and the verdict with its figures of each output, in order."""
    scratch.mkdir()
    repository.environment.update({"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)})
    lines = repository.run(sys.executable, "-m", "tools.verify", *arguments, status=status).splitlines()
    assert list(scratch.glob("charlm-*")) == [], "the clone is gone"
    verdicts = [line for line in lines if line.startswith(("identical  ", "equal within", "differs  "))]
    return lines, {line[24:].partition(":")[0]: line for line in verdicts}


def alter(repository: Repository, path: Path, old: str, new: str) -> None:
    """Change a committed file."""
    file = repository.path / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    repository.run("git", "commit", "--quiet", "--all", "--message", "An altered result")


def test_what_is_committed_reproduces(repository: Repository, tmp_path: Path) -> None:
    before = repository.files()
    lines, verdicts = run(repository, tmp_path / "scratch", status=0)
    commit = repository.run("git", "rev-parse", "--short", "HEAD").strip()
    assert lines[0] == (
        f"Reproducing {commit} in a scratch clone without cache: about a minute and a half on two cores."
    )
    assert [line for line in lines if line.startswith("Running stage")] == [  # while it runs, not at the end
        f"Running stage '{stage}':"
        for stage in ("download", "tokenize", "train_bigram", "train_attention", "evaluate", "plot")
    ]
    assert tuple(verdicts) == OUTPUTS
    assert {line.split("  ")[0] for line in verdicts.values()} == {"identical"}
    assert lines[-1] == f"Reproduced: {len(OUTPUTS)} of {len(OUTPUTS)} outputs are identical."
    assert repository.files() == before


def test_an_altered_result_is_named_with_its_figures(repository: Repository, tmp_path: Path) -> None:
    alter(repository, paths.METRICS, '"parameters": 3721', '"parameters": 3722')
    made = locked(repository.path)["train_attention"].outs["checkpoints/attention"]
    alter(repository, Path("dvc.lock"), made, "a" * 32 + ".dir")
    lines, verdicts = run(repository, tmp_path / "scratch", status=1)
    assert {path for path, line in verdicts.items() if line.startswith("differs")} == {
        "checkpoints/attention",
        str(paths.METRICS),
    }
    assert verdicts["checkpoints/attention"].endswith(f": dvc.lock has {'a' * 12}, and {made[:12]} came out")
    assert verdicts[str(paths.METRICS)].endswith(
        ": 1 values differ, as models.bigram.parameters: 3722, and 3721 came out"
    )
    assert lines[-1] == f"Not reproduced: checkpoints/attention, {paths.METRICS}."


def test_where_bytes_are_not_promised_metrics_within_tolerance_are_enough(
    repository: Repository, tmp_path: Path
) -> None:
    repository.set(compute__numerics="native")
    metrics = repository.path / paths.METRICS
    loss = next(line for line in metrics.read_text().splitlines() if "val_loss" in line).strip(" ,")
    alter(repository, paths.METRICS, loss, f"{loss}1")
    lines, verdicts = run(repository, tmp_path / "scratch", status=0)
    assert verdicts[str(paths.METRICS)].startswith("equal within tolerance")
    assert "Identical bytes are not promised here: compute.numerics is native, not portable." in lines
    assert "Data has to be identical, and metrics equal within 0.0001 (relative, absolute below 1)." in lines
    assert lines[-1].endswith("outputs are identical, and the metrics agree.")


# A pipeline that takes no time: what matters is only how its result is judged.
ONE_STAGE = """\
stages:
  evaluate:
    cmd: echo '{"loss":2.5}' > metrics.json
    metrics:
      - metrics.json: {cache: false}
"""


def test_exact_demands_bytes_where_tolerance_would_be_enough(
    fresh: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = fresh.copy(tmp_path / "copy")
    repository.set(compute__numerics="native")
    (repository.path / "dvc.yaml").write_text(ONE_STAGE, encoding="utf-8")
    repository.repro()
    repository.commit("A number")
    alter(repository, Path("metrics.json"), "2.5", "2.50001")
    monkeypatch.chdir(repository.path)
    for name, value in repository.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["verify", "--exact"])  # in this process: the imports take two seconds
    with pytest.raises(SystemExit) as ended:
        verify.main()
    said = capsys.readouterr().out
    assert ended.value.code == 1
    assert re.search(r"^differs +metrics\.json: 1 numbers differ, .* 2\.50001, and 2\.5 came out$", said, re.MULTILINE)
    assert said.endswith("Not reproduced: metrics.json.\n")
    assert "not promised" not in said


def test_without_results_there_is_nothing_to_verify(fresh: Repository, tmp_path: Path) -> None:
    lines, _ = run(fresh.copy(tmp_path / "copy"), tmp_path / "scratch", status=1)
    assert lines[1:] == [
        "error: dvc.lock knows nothing of data/raw/corpus.txt of the stage download; run `dvc repro` and commit it"
    ]


@pytest.mark.parametrize(
    ("otherwise", "reasons"),
    [
        ({}, []),
        ({"machine": "aarch64"}, ["machine is aarch64, not x86_64"]),
        ({"system": "Darwin"}, ["system is Darwin, not Linux"]),
        ({"torch": "2.14.0"}, ["torch is 2.14.0, not 2.13.0"]),
    ],
)
def test_what_lies_outside_the_promise(
    otherwise: dict[str, str], reasons: list[str], finished: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_with = golden.load()["made_with"]
    monkeypatch.setattr(stack, "here", lambda: made_with | otherwise)
    assert verify.outside_the_promise(finished.path) == reasons


FINDINGS = [
    Finding("data/a", "identical"),
    Finding("metrics.json", "equal within tolerance", "1e-6"),
    Finding("checkpoints/a", "differs", "other bytes", excused=True),
]


def test_the_report_excuses_what_has_to_be_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.report(FINDINGS, ["machine is aarch64, not x86_64"]) == 0
    said = capsys.readouterr().out
    assert "Identical bytes are not promised here: machine is aarch64, not x86_64." in said
    assert said.endswith("Reproduced: 1 of 3 outputs are identical, and the metrics agree.\n")


def test_the_report_lists_what_is_not_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    bad = [*FINDINGS, Finding("data/b", "differs", "x"), Finding("reports/c", "differs", "y")]
    assert verify.report(bad, ["machine is aarch64, not x86_64"]) == 1
    assert capsys.readouterr().out.endswith("Not reproduced: data/b, reports/c.\n")
