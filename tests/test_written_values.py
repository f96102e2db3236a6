"""A value of params.yaml is what DVC takes it for, however it is written."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from charlm.params import Section, load
from tests.parameters import dvc_reads, error


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
def test_no_number_is_infinite_or_none_even_where_there_are_no_limits(scratch: Path, written: str) -> None:
    scratch.write_text(f"any: {{value: {written}}}")
    assert error(Number, scratch).startswith("any.value is ")
