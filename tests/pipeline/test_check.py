"""`make check`: what does not fit is found and named, and what fits passes, whether data is here or not."""

import hashlib
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.pipeline.repository import ROOT, Repository, set_parameter
from tools.check import check

METRICS = "reports/metrics.json"
CURVE = "reports/curves/bigram.csv"


@pytest.fixture(scope="module")
def unspoilt(finished: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A fresh clone of the finished repository: no data, no checkpoints, no cache."""
    return finished.clone(tmp_path_factory.mktemp("check") / "a clone")


@pytest.fixture
def clone(unspoilt: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """The same, as the current folder, put back after the test."""
    monkeypatch.chdir(unspoilt.path)
    for name, value in unspoilt.environment.items():
        monkeypatch.setenv(name, value)
    yield unspoilt
    unspoilt.run("git", "reset", "--quiet", "--hard")


def run(repository: Repository, status: int = 0) -> str:
    """Run it as a program."""
    repository.environment["PYTHONPATH"] = str(ROOT)
    return repository.run(sys.executable, "-m", "tools.check", status=status)


def add(path: str) -> None:
    with Path(path).open("ab") as file:
        file.write(b"\n")


def replace(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


def replace_and_lock(path: str, old: str, new: str) -> None:
    """Change a result as if the pipeline had made it so."""
    before, size_before = md5(path), Path(path).stat().st_size
    replace(path, old, new)
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    as_made = f"md5: {before}\n      size: {size_before}"
    assert as_made in lock
    now = f"md5: {md5(path)}\n      size: {Path(path).stat().st_size}"
    Path("dvc.lock").write_text(lock.replace(as_made, now), encoding="utf-8")


def md5(path: str) -> str:
    return hashlib.md5(Path(path).read_bytes(), usedforsecurity=False).hexdigest()


def forget(begin: str, end: str | None = None) -> None:
    """Take a part out of dvc.lock: from the line `begin` to the one before the next `end`, or the last."""
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    first = lock.index(begin)
    rest = lock[lock.index(end, first) :] if end else ""
    Path("dvc.lock").write_text(lock[:first] + rest, encoding="utf-8")


def change_hash_read() -> None:
    """Let train_bigram have read other tokens than those that tokenize made."""
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    head, tail = lock.split("  train_bigram:\n")
    before = tail[tail.index("path: data/tokens/val.npy") :].splitlines()[2]
    Path("dvc.lock").write_text(head + "  train_bigram:\n" + tail.replace(before, f"      md5: {'a' * 32}", 1))


def take_out_of_git(path: str) -> None:
    subprocess.run(["git", "rm", "--quiet", "--cached", path], check=True)


USED = "is not the file that was used; run `dvc repro`"
CAME_OUT = "is not the file that dvc.lock says came out; run `dvc repro`"

FAULTS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "code": (partial(add, "src/charlm/report/content.py"), [f"plot: src/charlm/report/content.py {USED}"]),
    "code of several stages": (
        partial(add, "src/charlm/tokens.py"),
        [f"{stage}: src/charlm/tokens.py {USED}" for stage in ("train_bigram", "train_attention", "evaluate")],
    ),
    "missing code": (
        lambda: Path("src/charlm/figures/gains.py").unlink(),
        ["plot: src/charlm/figures/gains.py is missing; run `dvc repro`"],
    ),
    "code that Git lacks": (
        partial(take_out_of_git, "stages/plot.py"),
        ["plot: stages/plot.py is not in Git, so a clone lacks it; `git add` it"],
    ),
    "a parameter": (
        partial(set_parameter, Path("params.yaml"), "attention.n_embd", "16"),
        ["train_attention: attention in params.yaml is not the value that was used; run `dvc repro`"],
    ),
    "a command": (
        partial(replace, "dvc.yaml", "cmd: python -m stages.plot", "cmd: python -I -m stages.plot"),
        ["plot: cmd in dvc.yaml is not the command that ran; run `dvc repro`"],
    ),
    "a dependency taken from dvc.yaml": (  # `dvc status` does not see it
        partial(replace, "dvc.yaml", "      - src/charlm/transport.py\n", ""),
        ["download: src/charlm/transport.py is a dependency in dvc.lock and no longer in dvc.yaml; run `dvc repro`"],
    ),
    "a dependency put into dvc.yaml": (
        partial(replace, "dvc.yaml", "    deps:\n", "    deps:\n      - pyproject.toml\n"),
        ["download: pyproject.toml is a dependency in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "a parameter put into dvc.yaml": (
        partial(replace, "dvc.yaml", "      - plot\n", "      - plot\n      - tokenize\n"),
        ["plot: tokenize is a parameter in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "an edited table": (partial(replace, CURVE, "4.", "3."), [f"train_bigram: {CURVE} {CAME_OUT}"]),
    "edited metrics": (partial(replace, METRICS, "2.", "1."), [f"evaluate: {METRICS} {CAME_OUT}"]),
    "an edited picture": (
        partial(add, "reports/figures/loss_curves.png"),
        [f"plot: reports/figures {CAME_OUT}"],
    ),
    "an edited report": (partial(add, "reports/report.md"), [f"plot: reports/report.md {CAME_OUT}"]),
    "a missing report": (
        lambda: Path("reports/report.md").unlink(),
        ["plot: reports/report.md is missing; run `dvc repro`"],
    ),
    "a report that Git lacks": (
        partial(take_out_of_git, "reports/report.md"),
        ["plot: reports/report.md is not in Git, so a clone lacks it; `git add` it"],
    ),
    "a picture that Git lacks": (
        partial(take_out_of_git, "reports/figures/gains.png"),
        ["plot: reports/figures/gains.png is not in Git, so a clone lacks it; `git add` it"],
    ),
    "no lock file": (
        lambda: Path("dvc.lock").unlink(),
        [
            f"{stage}: dvc.lock has no entry for this stage; run `dvc repro`"
            for stage in ("download", "tokenize", "train_bigram", "train_attention", "evaluate", "plot")
        ],
    ),
    "a stage that the lock lacks": (
        partial(forget, "  plot:\n"),
        ["plot: dvc.lock has no entry for this stage; run `dvc repro`"],
    ),
    "a stage that only the lock has": (
        partial(replace, "dvc.lock", "stages:\n", "stages:\n  older:\n    cmd: none\n"),
        ["older: dvc.yaml has no such stage, and dvc.lock has; remove it there"],
    ),
    "a dependency that the lock lacks": (
        partial(forget, "    - path: src/charlm/corpus.py", "    - path: src/charlm/errors.py"),
        ["download: src/charlm/corpus.py is a dependency in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "an output that the lock lacks": (
        partial(forget, "    - path: reports/figures", "    - path: reports/report.html"),
        ["plot: reports/figures is an output in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "data read that was never made": (
        change_hash_read,
        [
            "train_bigram: data/tokens/val.npy was read before tokenize made it as dvc.lock says; run `dvc repro`",
        ],
    ),
    "NaN among the metrics": (
        partial(replace_and_lock, METRICS, '"val_bits_sd": 0', '"val_bits_sd": NaN, "x": 0'),
        [f"evaluate: {METRICS} is no good: it holds NaN, which is no number"],
    ),
    "a metric that the report needs": (
        partial(replace_and_lock, METRICS, '"val_perplexity":', '"perplexity":'),
        [f"evaluate: {METRICS} is no good: {METRICS}: models.bigram.val_perplexity: Field required; "],
    ),
    "a model without metrics": (
        partial(replace_and_lock, METRICS, '"attention": {', '"other": {'),
        [f"evaluate: {METRICS} is no good: it has the models bigram, other, and evaluate.models names bigram, att"],
    ),
    "a curve without a loss": (
        partial(replace_and_lock, CURVE, "\n1,20,", "\n1,20,nan"),
        [f"train_bigram: {CURVE} is no good: {CURVE}"],
    ),
    "dvc.yaml that is no YAML": (
        partial(replace, "dvc.yaml", "stages:\n", "stages: [\n"),
        ["dvc: status says: './dvc.yaml' is invalid. While parsing"],
    ),
    "dvc.yaml that is no pipeline": (
        partial(replace, "dvc.yaml", "    cmd: python -m stages.plot\n", ""),
        ["dvc: status says: './dvc.yaml' validation failed. "],
    ),
    "params.yaml that is no YAML": (
        partial(replace, "params.yaml", "tokenize:\n", "tokenize: [\n"),
        ["dvc: status says: ERROR: unable to read: 'params.yaml'"],
    ),
    "dvc.lock that is no YAML": (
        partial(replace, "dvc.lock", "stages:\n", "stages: [\n"),
        ["dvc: status says: './dvc.lock' is invalid. While parsing"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("clone")
def test_what_does_not_fit_is_named_with_its_stage_and_nothing_else_is(fault: str) -> None:
    break_it, expected = FAULTS[fault]
    break_it()
    lines = [str(found) for found in check()]
    assert len(lines) == len(expected), lines
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(begin)
        assert "\n" not in line


def test_a_fault_ends_the_program_with_status_1(clone: Repository) -> None:
    Path(METRICS).unlink()
    assert run(clone, status=1) == f"evaluate: {METRICS} is missing; run `dvc repro`\n"


@pytest.mark.parametrize("place", ["unspoilt", "finished", "fresh"])
def test_what_fits_passes_with_and_without_data_and_before_the_first_run(
    place: str, request: pytest.FixtureRequest
) -> None:
    assert run(request.getfixturevalue(place)) == "The pipeline, its results and its lock file fit together.\n"


def test_a_change_that_was_run_passes(repository: Repository) -> None:
    repository.set(plot__dpi="61")
    repository.repro()
    assert "fit together" in run(repository)


def test_damaged_data_does_not_pass(repository: Repository) -> None:
    (repository.path / "data/tokens/val.npy").write_bytes(b"damaged")
    assert run(repository, status=1) == (f"tokenize: data/tokens/val.npy {CAME_OUT}\n")


def test_outside_of_git_it_is_one_line(repository: Repository) -> None:
    (repository.path / ".git").rename(repository.path.parent / "no longer here")
    (repository.path / ".dvc/config").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    said = run(repository, status=1)
    assert said.startswith("error: git cannot list its files here: fatal: not a git repository")
    assert said.count("\n") == 1


def test_it_takes_less_than_two_seconds_of_computing(unspoilt: Repository) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(unspoilt)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
