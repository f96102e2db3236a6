"""What may stand in params.yaml, and what is said of anything else."""

import importlib
import json
import math
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from ruamel.yaml import YAML

import stages
from charlm.errors import CharlmError
from charlm.params import Section, load
from charlm.settings import Compute, Train, Window

PARAMS = Path(__file__).resolve().parent.parent / "params.yaml"
NAN, INF = math.nan, math.inf
SHA256 = "0123456789abcdef" * 4


def dvc_reads(text: str) -> Any:
    """Return what DVC's own reader makes of `text`."""
    return YAML(typ="safe", pure=True).load(text)


def kinds() -> Iterator[type[Section]]:
    """Every section of the program, the stages' own included."""
    for stage in pkgutil.iter_modules(stages.__path__, "stages."):
        importlib.import_module(stage.name)
    waiting = Section.__subclasses__()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.partition(".")[0] in ("charlm", "stages"):
            yield kind


KINDS = sorted(kinds(), key=lambda kind: kind.__name__)
FIELDS = {f"{kind.section}.{name}": (kind, name) for kind in KINDS for name in kind.model_fields}

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
        [[{"url": "https://a.b/c"}], [{"wheel": "a==1", "members": ["m"]}, {"url": "https://a.b/c"}]],
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
    "tokenize.val_fraction": ([5e-324, 0.1, 1 - 2**-53], [0, 1, -0.1, 1.1, "0.1", True, None, NAN, INF]),
    "train.batch_size": ([1, 65536], [0, 65537, 32.0, "32", True, None, NAN]),
    "train.block_size": ([1, 65536], [0, 65537, 32.0, "32", True, None, NAN]),
    "train.eval_interval": ([1, 10**9], [0, -1, 250.0, "250", True, None]),
    "train.seeds": ([[0], [2**32 - 1, 1, 2]], [[], [1, 2, 1], None, 1, "1"]),
    "train.steps": ([1, 10**9], [0, 10**9 + 1, 5e3, "5000", True, None]),
}


def cases(which: int) -> list[tuple[str, Any]]:
    return [(key, value) for key, values in LIMITS.items() for value in values[which]]


@pytest.fixture
def params(tmp_path: Path) -> Path:
    """A params.yaml of its own for one test."""
    return tmp_path / "params.yaml"


def set_value(path: Path, key: str, value: Any) -> None:
    """Write the real parameters with one of them changed."""
    content = dvc_reads(PARAMS.read_text("utf-8"))
    section, _, name = key.partition(".")
    content[section][name] = value
    # JSON is YAML, but for these two names.
    path.write_text(json.dumps(content).replace("NaN", ".nan").replace("Infinity", ".inf"), "utf-8")


def error(kind: type[Section], path: Path) -> str:
    """Return the error in loading, which is one line that begins with the file's name."""
    with pytest.raises(CharlmError) as caught:
        load(kind, path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path)).removeprefix(": ")


@pytest.mark.parametrize("kind", KINDS)
def test_the_real_parameters_are_read_as_dvc_reads_them(kind: type[Section]) -> None:
    expected = dvc_reads(PARAMS.read_text("utf-8"))[kind.section]
    found = load(kind, PARAMS).model_dump(mode="json", warnings=False)
    assert found == {name: expected[name] for name in kind.model_fields}


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


# --- unknown and doubled keys -----------------------------------------------------------------------------------


def test_an_unknown_key_is_refused_with_the_nearest_known_one(params: Path) -> None:
    set_value(params, "train.batchsize", 32)
    assert error(Train, params) == "train.batchsize is not a known key; did you mean 'batch_size'?"


def test_a_misspelt_key_is_named_rather_than_the_one_it_leaves_missing(params: Path) -> None:
    params.write_text(PARAMS.read_text("utf-8").replace("  batch_size:", "  batchsize:"))
    assert "train.batchsize is not a known key; did you mean 'batch_size'?" in error(Train, params)


def test_an_unknown_key_like_no_other_is_refused_with_all_that_are_known(params: Path) -> None:
    set_value(params, "compute.xyz", 1)
    assert error(Compute, params) == "compute.xyz is not a known key; known: device, numerics"


@pytest.mark.parametrize("text", ["train: {}\ntrain: {}\n", "train:\n  steps: 1\n  block_size: 2\n  steps: 1\n"])
def test_a_key_that_stands_twice_is_refused(params: Path, text: str) -> None:
    params.write_text(text)
    assert re.search("duplicate key '(train|steps)'.* line [1-4]", error(Train, params))


def test_a_missing_section_is_named_with_the_nearest_one_there(params: Path) -> None:
    params.write_text("trian: {}\ncompute: {}\n")
    assert error(Train, params) == " has no section 'train'; did you mean 'trian'?"


# --- files that are no parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "sections"),
        (b"# nothing but a comment\n", "sections"),
        (b"- train\n", "sections"),
        (b"train", "sections"),
        (b"train:\n\tsteps: 1\n", "line 2"),
        (b"train: [1\n", "line 2"),
        (b"train: {steps: *other}\n", "line 1"),
        (b"train: {}\n---\ntrain: {}\n", "line 2"),
        (b"a: \xff\n", "not UTF-8 at byte 3"),
        (b"train: 3\n", "train is 3"),
        (b"train:\n", "train is None"),
        (b"train: [1]\n", r"train is \[1\]"),
        (b"train: {steps: !!python/object/apply:os.getcwd []}\n", "python/object"),
        (b"train: {steps: !!timestamp 2020-01-01}\n", "train|YAML"),
        (b"train: {steps: " + b"9" * 5000 + b"}\n", "train|YAML"),
    ],
)
def test_what_holds_no_parameters_is_refused_with_the_place(params: Path, content: bytes, named: str) -> None:
    params.write_bytes(content)
    assert re.search(named, error(Train, params))


def test_a_missing_file_is_an_error_that_says_where_to_run(params: Path) -> None:
    assert "run from the repository's root" in error(Train, params)


# --- numbers ----------------------------------------------------------------------------------------------------


class Anything(Section):
    """A section that takes every value."""

    section: ClassVar[str] = "any"
    value: Any


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that many examples of one test write anew."""
    return tmp_path_factory.mktemp("params") / "params.yaml"


def read(scratch: Path, written: str) -> Any:
    scratch.write_text(f"any:\n  value: {written}\n", "utf-8")
    return load(Anything, scratch).value


WRITTEN = [
    "1e-3", "1e-05", "0.001", "0.00001", "1E-3", "1.e-3", "1.0e+3", "1e3", "-1e-3", ".5", "5.", "+1",
    "-1", "0", "1.0", "010", "0o10", "0x1F", "5_000", "12:30", "yes", "no", "on", "true",
    "True", "FALSE", "~", "null", "Null", "'1e-3'", '"5"', "1e", "1,000", "1.5.2", "cpu", "[1,1e-3]",
]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_a_value_is_what_dvc_takes_it_for(scratch: Path, written: str) -> None:
    expected = dvc_reads(f"value: {written}")["value"]
    found = read(scratch, written)
    assert (found, type(found)) == (tuple(expected) if isinstance(found, tuple) else expected, type(expected))


@given(
    number=st.floats(min_value=0, max_value=10, allow_subnormal=False),
    form=st.sampled_from(["{!r}", "{:.16e}", "{:.16E}", "{:.340f}"]),
)
@example(number=1e-3, form="1e-3")
@example(number=1e-3, form="1e-03")
@example(number=1e-3, form="0.001")
@example(number=1e-5, form="1e-05")
@example(number=1e-5, form="0.00001")
def test_a_float_is_the_same_however_it_was_written(scratch: Path, number: float, form: str) -> None:
    found = read(scratch, form.format(number))
    assert (found, type(found)) == (number, float)


class Number(Section):
    """A section whose number has no limits."""

    section: ClassVar[str] = "any"
    value: float


@pytest.mark.parametrize("written", [".nan", ".inf", "-.inf", "1e999"])
def test_no_number_is_infinite_or_none_even_where_there_are_no_limits(params: Path, written: str) -> None:
    params.write_text(f"any: {{value: {written}}}")
    assert error(Number, params).startswith("any.value is ")


# --- sections ---------------------------------------------------------------------------------------------------


def test_window_reads_the_block_size_and_no_other_key(params: Path) -> None:
    params.write_text("train: {block_size: 7, steps: wrong, unknown: 1}")
    assert load(Window, params).model_dump() == {"block_size": 7}


def test_a_section_cannot_be_changed() -> None:
    train = load(Train, PARAMS)
    with pytest.raises(ValidationError, match="frozen"):
        train.steps = 1
    hash(train)  # no value in it can be changed either
