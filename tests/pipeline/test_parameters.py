"""Each parameter in turn: a change of it makes stale exactly the stages that read it, and no other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo  # type: ignore[import-untyped]

from tests.pipeline.repository import ROOT, Repository, set_parameter, stages_that_ran

TRAINING = {"train_bigram", "train_attention"}

# Every parameter of params.yaml: another value, and the stages that read it. What depends on their outputs runs
# only if these change.
TABLE: dict[str, tuple[str, set[str]]] = {
    "data.sha256": ("null", {"download"}),
    "data.sources": ("[{url: https://example.com/text}]", {"download"}),
    "data.max_bytes": ("2000000", {"download"}),
    "tokenize.encoding": ("latin-1", {"tokenize"}),
    "tokenize.normalise": ("false", {"tokenize"}),
    "tokenize.val_fraction": ("0.2", {"tokenize"}),
    "train.batch_size": ("16", {*TRAINING, "evaluate"}),
    "train.block_size": ("16", {"tokenize", *TRAINING, "evaluate"}),
    "train.steps": ("41", {*TRAINING, "evaluate"}),
    "train.eval_interval": ("10", {*TRAINING, "evaluate"}),
    "train.schedule": ("cosine", {*TRAINING, "evaluate"}),
    "train.warmup_steps": ("5", {*TRAINING, "evaluate"}),
    "train.seeds": ("[1, 3]", {*TRAINING, "evaluate"}),
    "compute.device": ("auto", {*TRAINING, "evaluate"}),
    "compute.numerics": ("native", {*TRAINING, "evaluate"}),
    "bigram.learning_rate": ("0.02", {"train_bigram"}),
    "attention.learning_rate": ("0.002", {"train_attention"}),
    "attention.n_embd": ("16", {"train_attention"}),
    "attention.head_size": ("16", {"train_attention"}),
    "evaluate.models": ("[attention, bigram]", {"evaluate"}),
    "evaluate.block_length": ("500", {"evaluate"}),
    "evaluate.resamples": ("1000", {"evaluate"}),
    "evaluate.bootstrap_seed": ("2", {"evaluate"}),
    "evaluate.context_pairs": ("[]", {"evaluate"}),
    "evaluate.found_pairs": ("1", {"evaluate"}),
    "evaluate.prompt": ("ROMEO", {"evaluate"}),
    "evaluate.length": ("60", {"evaluate"}),
    "evaluate.temperatures": ("[0.5]", {"evaluate"}),
    "evaluate.sample_seed": ("2", {"evaluate"}),
    "plot.width": ("9.0", {"plot"}),
    "plot.height": ("5.0", {"plot"}),
    "plot.dpi": ("61", {"plot"}),
}

SAME_VALUE = {"attention.learning_rate": "1e-3", "tokenize.val_fraction": "0.10", "train.seeds": "[1,2]"}


def parameters() -> list[str]:
    sections: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    return [f"{section}.{key}" for section, keys in sections.items() for key in keys]


@pytest.fixture(scope="module")
def once(finished: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """One finished repository for all changes: DVC takes half a second to start, and a tenth to look."""
    return finished.copy(tmp_path_factory.mktemp("parameters") / "a copy")


@pytest.fixture
def params_file(once: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Its params.yaml, which is put back after the test; we are in its folder, and see what its commands see."""
    monkeypatch.chdir(once.path)
    for name, value in once.environment.items():
        monkeypatch.setenv(name, value)
    file = once.path / "params.yaml"
    before = file.read_bytes()
    yield file
    file.write_bytes(before)


def stale() -> set[str]:
    """Return the stages that `dvc status` names, without a new process."""
    with Repo() as repo:
        return set(repo.status())


def test_the_table_names_every_parameter_once_and_no_other() -> None:
    assert list(TABLE) == parameters()


@pytest.mark.parametrize("parameter", parameters())
def test_a_change_makes_stale_exactly_the_stages_that_read_it(parameter: str, params_file: Path) -> None:
    value, expected = TABLE[parameter]
    set_parameter(params_file, parameter, value)
    assert stale() == expected


def test_a_dry_run_names_the_same_stages(params_file: Path, once: Repository) -> None:
    """It takes ten times as long to ask, so it is asked once: of two changes, and of what lies between them."""
    for parameter in ("bigram.learning_rate", "plot.dpi"):
        set_parameter(params_file, parameter, TABLE[parameter][0])
    assert stale() == {"train_bigram", "plot"}
    assert set(stages_that_ran(once.run("dvc", "repro", "--dry"))) == stale()


@pytest.mark.parametrize("parameter", SAME_VALUE)
def test_the_same_value_written_another_way_is_no_change(parameter: str, params_file: Path) -> None:
    before = params_file.read_bytes()
    set_parameter(params_file, parameter, SAME_VALUE[parameter])
    assert params_file.read_bytes() != before
    assert stale() == set()


@pytest.mark.usefixtures("params_file")
def test_no_change_makes_nothing_stale() -> None:
    assert stale() == set()


@pytest.mark.parametrize(
    ("parameter", "run"),
    [
        ("data.max_bytes", {"download"}),  # it brings the same bytes, so nothing follows
        ("tokenize.encoding", {"tokenize"}),  # the text is ASCII, so the tokens are the same
        ("tokenize.normalise", {"tokenize"}),  # and has neither a byte-order mark nor another line end
    ],
)
def test_what_brings_the_same_data_runs_alone(parameter: str, run: set[str], repository: Repository) -> None:
    set_parameter(repository.path / "params.yaml", parameter, TABLE[parameter][0])
    assert set(repository.repro()) == run
    assert repository.stale() == set()
