"""A file that does not hold the parameters, and only them, is told in a line with the place."""

import re
from pathlib import Path

import pytest

from charlm.params import Section
from charlm.settings import Compute, Train
from tests.parameters import FIELDS, KINDS, PARAMS, error, set_value

# --- unknown and doubled keys -----------------------------------------------------------------------------------


def rewritten(key: str, start: str) -> tuple[str, int]:
    """Return the real file with another start of one parameter's line, and the number of that line."""
    section, name = key.split(".")
    text = PARAMS.read_text("utf-8")
    found = re.search(rf"^{section}:\n(?:[ #].*\n|\n)*?(  {name}):", text, re.MULTILINE)
    assert found
    return text[: found.start(1)] + start + text[found.end(1) :], text.count("\n", 0, found.start(1)) + 1


def strict(key: str) -> type[Section]:
    """Return the section that refuses what it does not know; tokenize passes over most of `train`."""
    return Train if key.startswith("train.") else FIELDS[key][0]


@pytest.mark.parametrize("key", FIELDS)
def test_a_misspelt_key_is_named_rather_than_the_one_it_leaves_missing(params: Path, key: str) -> None:
    misspelt = key[:-2] + key[-1] * 2
    text, _ = rewritten(key, f"  {misspelt.partition('.')[2]}")
    params.write_text(text)
    name = key.partition(".")[2]
    assert error(strict(key), params) == f"{misspelt} is not a known key; did you mean '{name}'? (and 1 more)"


def test_an_unknown_key_like_no_other_is_refused_with_all_that_are_known(params: Path) -> None:
    set_value(params, "compute.xyz", 1)
    assert error(Compute, params) == "compute.xyz is not a known key; known: device, numerics"


@pytest.mark.parametrize("key", FIELDS)
def test_a_key_that_stands_twice_is_refused_with_its_line(params: Path, key: str) -> None:
    name = key.partition(".")[2]
    text, line = rewritten(key, f"  {name}: 1\n  {name}")
    params.write_text(text)
    assert re.search(rf"duplicate key '{name}' .*line {line},", error(strict(key), params))


@pytest.mark.parametrize("section", sorted({kind.section for kind in KINDS}))
def test_a_section_that_stands_twice_is_refused_with_its_line(params: Path, section: str) -> None:
    params.write_text(f"{section}: {{}}\n{PARAMS.read_text('utf-8')}")
    for kind in KINDS:
        assert re.search(rf"duplicate key '{section}' .*line 1,", error(kind, params))


@pytest.mark.parametrize("key", FIELDS)
def test_a_tab_before_a_key_is_refused_with_its_line(params: Path, key: str) -> None:
    text, line = rewritten(key, f"\t{key.partition('.')[2]}")
    params.write_text(text)
    assert re.search(rf"line {line},", error(strict(key), params))


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
