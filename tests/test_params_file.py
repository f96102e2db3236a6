"""A file that does not hold the parameters, and only them, is told in a line with the place."""

import re
from pathlib import Path

import pytest

from charlm.settings import Compute, Train
from tests.parameters import PARAMS, error, set_value

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
        (b"train: {steps: !!timestamp abc}\n", r"a tag \(!!...\) that does not fit"),
        (b"train: {steps: !!float abc}\n", r"a tag \(!!...\) that does not fit"),
        (b"train: {steps: !!bool abc}\n", r"a tag \(!!...\) that does not fit"),
        (b"train: {steps: !!int [1]}\n", r"a tag \(!!...\) that does not fit"),
        (b"train: {steps: !!map [1]}\n", r"a tag \(!!...\) that does not fit|YAML"),
        (b"train: " + b"[" * 3000 + b"]" * 3000 + b"\n", "nested too deeply"),
        (b'train: {schedule: "\\uD800"}\n', "section 'train' holds half of a character"),
        (b"train: {steps: " + b"9" * 5000 + b"}\n", "train|YAML"),
    ],
)
def test_what_holds_no_parameters_is_refused_with_the_place(params: Path, content: bytes, named: str) -> None:
    params.write_bytes(content)
    assert re.search(named, error(Train, params))


def test_a_missing_file_is_an_error_that_says_where_to_run(params: Path) -> None:
    assert "run from the repository's root" in error(Train, params)
