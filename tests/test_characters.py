"""Characters that cannot be seen get a name or a sign; a text in one line stays in it."""

import json
import sys
import unicodedata

import pytest

from charlm.characters import as_json, name, sign, without_controls


@pytest.mark.parametrize(
    ("character", "named", "signed"),
    [
        ("a", "a", "a"), ("漢", "漢", "漢"), ("\n", "newline", "↵"), (" ", "space", "␣"), ("\t", "tab", "⇥"),
        ("\x00", "U+0000", "□"), ("\u00a0", "U+00A0", "□"), ("\u202e", "U+202E", "□"), ("\u0301", "U+0301", "□"),
        ("\x9b", "U+009B", "□"),
    ],
)  # fmt: skip
def test_a_single_character(character: str, named: str, signed: str) -> None:
    assert name(character) == named
    assert sign(character) == signed
    assert sign(character).isprintable()


@pytest.mark.parametrize("text", ["", 'a "b" \\', "a\nb\r\x00\x7f\x85\x9b\u2028\u202e\ufeff é漢🙂", "  two  "])
def test_as_json_is_one_printable_line_of_json(text: str) -> None:
    assert as_json(text).isprintable()
    assert json.loads(as_json(text)) == text


def test_values_of_parameters() -> None:
    assert as_json([["cat", "hat"], 0.001, None, True]) == '[["cat", "hat"], 0.001, null, true]'


def test_controls_become_pictures_and_lines_stay() -> None:
    assert without_controls("a\x00\tb\r\n\x1b[0m\x7f") == "a␀\tb␍\n␛[0m␡"
    assert without_controls("\x80\x85\x9b31m\x9f\xa0\xad") == "□□□31m□\xa0\xad"


def test_no_control_but_newline_and_tab_is_left() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = without_controls(every)
    assert len(left) == len(every)
    assert {c for c in left if unicodedata.category(c) == "Cc"} == {"\n", "\t"}
    changed = {old for old, new in zip(every, left, strict=True) if old != new}
    assert {unicodedata.category(c) for c in changed} == {"Cc"}
