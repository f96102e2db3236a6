"""`make verify`, on the small pipeline: what is committed reproduces, and what was altered does not."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.repository import ROOT, Repository
from tools import golden, stack, verify
from tools.compare import Finding, outputs

Judged = Callable[..., tuple[int, list[str]]]

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


def test_every_output_is_compared(finished: Repository) -> None:
    assert tuple(outputs(finished.path)) == OUTPUTS


# A pipeline that takes no time: what matters is only how its result is judged.
TWO_STAGES = """\
stages:
  evaluate:
    cmd: echo weights > checkpoint && echo '{"loss":2.5}' > metrics.json
    outs:
      - checkpoint
    metrics:
      - metrics.json: {cache: false}
  plot:
    cmd: echo picture > picture
    outs:
      - picture: {cache: false}
"""
WEIGHTS = "fad624b28208abf62b4d0db65c04757b"  # what md5sum says of them
VERDICTS = "identical", "equal within tolerance", "differs"


@pytest.fixture
def judged(
    fresh: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Judged:
    """A function that alters results of that pipeline, each a file with what stands there and what shall, and runs it.

    It gets `numerics`, those alterations and the program's arguments, and returns the exit status and the lines.
    """

    def judge(numerics: str, alterations: dict[str, tuple[str, str]], *arguments: str) -> tuple[int, list[str]]:
        repository = fresh.copy(tmp_path / "copy")
        repository.set(compute__numerics=numerics)
        (repository.path / "dvc.yaml").write_text(TWO_STAGES, encoding="utf-8")
        repository.repro()
        for name, (old, new) in alterations.items():
            file = repository.path / name
            text = file.read_text(encoding="utf-8")
            assert old in text
            file.write_text(text.replace(old, new, 1), encoding="utf-8")
        repository.commit("Results, altered")
        capfd.readouterr()
        monkeypatch.chdir(repository.path)
        for name, value in repository.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["verify", *arguments])  # in this process: the imports take two seconds
        here = [repository.path / name for name in ("dvc.lock", "checkpoint", "metrics.json", "picture")]
        before = [file.read_bytes() for file in here]
        with pytest.raises(SystemExit) as ended:
            verify.main()
        assert [file.read_bytes() for file in here] == before, "what lies here is left alone"
        assert isinstance(ended.value.code, int)
        lines = capfd.readouterr().out.splitlines()
        ran = [line for line in lines if line.startswith("Running stage")]
        assert ran == ["Running stage 'evaluate':", "Running stage 'plot':"], "also what came with Git"
        return ended.value.code, lines

    return judge


def test_what_is_committed_reproduces(judged: Judged) -> None:
    status, lines = judged("portable", {})
    assert status == 0
    assert re.fullmatch(
        r"Reproducing [0-9a-f]{7} in a scratch clone without cache: about a minute and a half on two cores\.", lines[0]
    )
    assert [line for line in lines if line.startswith(VERDICTS)] == [
        "identical               checkpoint",
        "identical               metrics.json",
        "identical               picture",
    ]
    assert lines[-1] == "Reproduced: 3 of 3 outputs are identical."


def test_an_altered_result_is_named_with_its_figures(judged: Judged) -> None:
    altered = {"metrics.json": ("2.5", "2.75"), "dvc.lock": (WEIGHTS, "a" * 32)}
    status, lines = judged("portable", altered)
    assert status == 1
    assert [line for line in lines if line.startswith(VERDICTS)] == [
        f"differs                 checkpoint: dvc.lock has {'a' * 12}, and {WEIGHTS[:12]} came out",
        "differs                 metrics.json: 1 numbers differ, most of all loss: 2.75, and 2.5 came out",
        "identical               picture",
    ]
    assert lines[-1] == "Not reproduced: checkpoint, metrics.json."


def test_where_bytes_are_not_promised_metrics_within_tolerance_are_enough(judged: Judged) -> None:
    status, lines = judged("native", {"metrics.json": ("2.5", "2.50001")})
    assert status == 0
    assert [line for line in lines if line.startswith("equal within tolerance  metrics.json: ")]
    assert "Identical bytes are not promised here: compute.numerics is native, not portable." in lines
    assert "Data has to be identical, and metrics equal within 0.0001 (relative, absolute below 1)." in lines
    assert lines[-1] == "Reproduced: 2 of 3 outputs are identical, and the metrics agree."


def test_metrics_beyond_the_tolerance_are_a_difference_even_there(judged: Judged) -> None:
    status, lines = judged("native", {"metrics.json": ("2.5", "2.501")})
    assert (status, lines[-1]) == (1, "Not reproduced: metrics.json.")


def test_exact_demands_bytes_where_tolerance_would_be_enough(judged: Judged) -> None:
    status, lines = judged("native", {"metrics.json": ("2.5", "2.50001")}, "--exact")
    assert status == 1
    [line] = [line for line in lines if line.startswith("differs")]
    assert re.search(r"metrics\.json: 1 numbers differ, .* 2\.50001, and 2\.5 came out$", line)
    assert lines[-1] == "Not reproduced: metrics.json."
    assert not [line for line in lines if "not promised" in line]


def test_without_results_there_is_nothing_to_verify(fresh: Repository, tmp_path: Path) -> None:
    repository = fresh.copy(tmp_path / "copy")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    repository.environment.update({"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)})
    said = repository.run(sys.executable, "-m", "tools.verify", status=1)
    assert said.splitlines()[1:] == [
        "error: dvc.lock knows nothing of data/raw/corpus.txt of the stage download; run `dvc repro` and commit it"
    ]
    assert list(scratch.glob("charlm-*")) == [], "the clone is gone"


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
