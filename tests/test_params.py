"""What may stand in params.yaml, and what is said of anything else."""

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from dvc.utils.hydra import apply_overrides  # type: ignore[import-untyped]
from pydantic import ValidationError

from charlm.params import Section, load
from charlm.settings import Compute, Train, Window
from tests.parameters import FIELDS, KINDS, PARAMS, dvc_reads, error, set_value

NAN, INF = math.nan, math.inf
SHA256 = "0123456789abcdef" * 4


# For each parameter: the first and the last values it may take, and values it must refuse.
LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "attention.head_size": ([1, 65536], [0, 65537, -32, 32.0, "32", True, None, [32], NAN]),
    "attention.learning_rate": ([5e-324, 1, 10], [0, -1e-3, 10.001, "1e-3", True, None, [0.1], NAN, INF]),
    "attention.n_embd": ([1, 65536], [0, 65537, 32.5, "32", True, None, {"n": 1}]),
    "bigram.learning_rate": ([5e-324, 10.0], [0.0, -0.01, 10.001, "0.01", False, None, NAN, INF, -INF]),
    "compute.device": (["cpu", "cuda", "mps", "auto"], ["gpu", "CPU", "", 0, True, None, ["cpu"]]),
    "compute.numerics": (["portable", "native"], ["fast", "", 1, True, None]),
    "data.max_bytes": ([1, 10**12], [0, -1, 1.5, "1115394", True, None]),
    "data.sha256": ([None, SHA256], ["", SHA256[1:], SHA256 + "0", SHA256.upper(), 5, True]),
    "data.sources": (
        [
            [{"url": "https://a.b/c"}],
            [{"wheel": "a==1", "members": ["m"]}, {"url": "https://a.b/c"}],
            [{"file": "texts/a"}, {"folder": "texts", "pattern": "**/*.txt"}],
        ],
        [[], None, "https://a.b/c", {"url": "https://a.b/c"}],
    ),
    "evaluate.length": ([1, 100_000], [0, 100_001, 400.0, "400", True, None]),
    "evaluate.models": ([["bigram"], ["bigram", "attention"]], [[], ["bigram", "bigram"], None, "bigram", 1]),
    "evaluate.prompt": (["", "ROMEO:\n", "é→"], [0, True, None, ["a"]]),
    "evaluate.sample_seed": ([0, 2**32 - 1], [-1, 2**32, 1.0, "1", True, None]),
    "evaluate.temperatures": ([[0], [0.5, 100]], [[], [1, 1], None, 1, "1"]),
    "evaluate.block_length": ([1, 10**9], [0, 10**9 + 1, 1000.0, "1000", True, None]),
    "evaluate.resamples": ([100, 10**6], [99, 10**6 + 1, 2000.0, "2000", True, None]),
    "evaluate.bootstrap_seed": ([0, 2**32 - 1], [-1, 2**32, 1.0, "1", True, None]),
    "evaluate.context_pairs": ([[], [["cat", "hat"]]], [None, "cat", 1]),
    "evaluate.found_pairs": ([0, 100], [-1, 101, 1.0, "1", True, None]),
    "plot.dpi": ([50, 600], [49, 601, 200.0, "200", True, None]),
    "plot.height": ([4, 20.0], [3.9, 20.1, "4", True, None, NAN, INF]),
    "plot.width": ([6, 20.0], [5.9, 20.1, "8", True, None, NAN, INF]),
    "tokenize.encoding": (
        ["utf-8", "UTF8", "latin-1", "ascii", "cp1252", "gb18030", "utf-16", "shift_jis"],
        [
            "",
            "utf-9",
            "hex",
            "base64",
            "bz2",
            "rot13",
            "undefined",
            "utf-8\0",
            "utf-7",
            "unicode_escape",
            "\u00e9",
            8,
            True,
            None,
            ["utf-8"],
        ],
    ),
    "tokenize.normalise": ([True, False], ["true", "", 1, 0, None]),
    "tokenize.val_fraction": ([5e-324, 0.1, 1 - 2**-53], [0, 1, -0.1, 1.1, "0.1", True, None, NAN, INF]),
    "train.batch_size": ([1, 65536], [0, 65537, 32.0, "32", True, None, NAN]),
    "train.block_size": ([1, 65536], [0, 65537, 32.0, "32", True, None, NAN]),
    "train.eval_interval": ([1, 10**9], [0, -1, 250.0, "250", True, None]),
    "train.schedule": (["constant", "cosine"], ["linear", "Cosine", "", 1, True, None, ["cosine"]]),
    "train.seeds": ([[0], [2**32 - 1, 1, 2]], [[], [1, 2, 1], None, 1, "1"]),
    "train.steps": ([1, 10**9], [0, 10**9 + 1, 5e3, "5000", True, None]),
    "train.warmup_steps": ([0, 10**9], [-1, 10**9 + 1, 100.0, "100", True, None]),
}


def cases(which: int) -> list[tuple[str, Any]]:
    return [(key, value) for key, values in LIMITS.items() for value in values[which]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_real_parameters_are_read_as_dvc_reads_them(kind: type[Section]) -> None:
    expected = dvc_reads(PARAMS.read_text("utf-8"))[kind.section]
    found = load(kind, PARAMS).model_dump(mode="json", warnings=False)
    assert found == {name: expected[name] for name in kind.model_fields}


def test_dvc_keeps_every_comment_when_it_sets_a_value(tmp_path: Path) -> None:
    """`dvc exp run -S` writes the file anew, and drops what stands within a list or right after one."""
    copy = tmp_path / "params.yaml"
    shutil.copy(PARAMS, copy)
    apply_overrides(copy, ["train.steps=1000"])

    def comments(path: Path) -> list[str]:
        return re.findall(r"#.*", path.read_text(encoding="utf-8"))

    assert comments(copy) == comments(PARAMS)


def test_no_section_of_the_real_parameters_goes_unread() -> None:
    assert {kind.section for kind in KINDS} == set(dvc_reads(PARAMS.read_text("utf-8")))


def test_no_parameter_was_forgotten_here() -> None:
    assert set(LIMITS) == set(FIELDS)


@pytest.mark.parametrize(("key", "value"), cases(0))
def test_a_parameter_takes_its_first_and_its_last_value(params: Path, key: str, value: Any) -> None:
    kind, name = FIELDS[key]
    set_value(params, key, value)
    assert load(kind, params).model_dump(mode="json", warnings=False)[name] == value


@pytest.mark.parametrize(("key", "value"), cases(1))
def test_a_wrong_value_is_refused_with_its_key_and_what_that_wants(params: Path, key: str, value: Any) -> None:
    kind, name = FIELDS[key]
    description = kind.model_fields[name].description
    assert description
    set_value(params, key, value)
    assert error(kind, params) == f"{key} is {value!r}; it wants {description}"


@pytest.mark.parametrize(
    ("key", "value", "start"),
    [
        ("train.seeds", [1, -1], "train.seeds.1 is -1; it wants a list of distinct whole numbers"),
        ("train.seeds", [2**32], "train.seeds.0 is 4294967296; it wants"),
        ("train.seeds", [1.0], "train.seeds.0 is 1.0; it wants"),
        ("train.seeds", ["1"], "train.seeds.0 is '1'; it wants"),
        ("train.seeds", [True], "train.seeds.0 is True; it wants"),
        ("train.seeds", [None], "train.seeds.0 is None; it wants"),
        ("evaluate.models", ["../x"], "evaluate.models.0 is '../x'; it wants a list of distinct model names"),
        ("evaluate.temperatures", [1.0, -0.1], "evaluate.temperatures.1 is -0.1; it wants"),
        ("evaluate.context_pairs", [["cat", "had"]], "evaluate.context_pairs.0 is"),
        ("evaluate.context_pairs", [["cat"]], "evaluate.context_pairs.0.1 is missing"),
        ("evaluate.models", ["bigram", 1], "evaluate.models.1 is 1; it wants"),
        ("data.sources", ["https://a.b/c"], "data.sources.0"),
    ],
)
def test_a_wrong_value_in_a_list_is_refused_with_its_place(params: Path, key: str, value: Any, start: str) -> None:
    set_value(params, key, value)
    assert error(FIELDS[key][0], params).startswith(start)


@pytest.mark.parametrize("key", FIELDS)
def test_a_missing_parameter_is_named(params: Path, key: str) -> None:
    kind, name = FIELDS[key]
    content = dvc_reads(PARAMS.read_text("utf-8"))
    del content[kind.section][name]
    params.write_text(json.dumps(content))
    assert error(kind, params) == f"{key} is missing; it wants {kind.model_fields[name].description}"


def test_a_wrong_value_is_told_with_how_many_others_there_are(params: Path) -> None:
    params.write_text("compute: {device: gpu, numerics: fast}")
    assert error(Compute, params) == "compute.device is 'gpu'; it wants cpu, cuda, mps or auto (and 1 more)"


# --- sections ---------------------------------------------------------------------------------------------------


def test_window_reads_the_block_size_and_no_other_key(params: Path) -> None:
    params.write_text("train: {block_size: 7, steps: wrong, unknown: 1}")
    assert load(Window, params).model_dump() == {"block_size": 7}


def test_a_section_cannot_be_changed() -> None:
    train = load(Train, PARAMS)
    with pytest.raises(ValidationError, match="frozen"):
        train.steps = 1
    hash(train)  # no value in it can be changed either
