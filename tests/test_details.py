"""The details behind the results: read whole, and refused in one line where they cannot be true."""

import copy
from pathlib import Path
from typing import Any

import pytest

from charlm import paths
from charlm.details import Character, read_characters, read_details, read_positions
from charlm.errors import CharlmError
from tests.examples import ATTENTION, CHARACTERS, PAIRS, POSITIONS, PROVENANCE, write_results

MODELS = ("bigram", "attention")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(path: Path, **changed: Any) -> str:
    """Return what is said of these results, which must be one line that begins with the path."""
    write_results(Path(), **changed)
    with pytest.raises(CharlmError) as caught:
        read_details(MODELS)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def changed(value: Any, *where: Any, to: Any) -> Any:
    """Return a copy with one value changed."""
    copied = copy.deepcopy(value)
    part = copied
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = to
    return copied


def test_all_is_read_as_it_was_written() -> None:
    odd = [*CHARACTERS, ('"', "punctuation", 3, {"bigram": 1.5, "attention": 1.25})]
    odd += [(c, "other", 4, {"bigram": 2.5, "attention": 2.25}) for c in ("漢", "\r", "\x00", "\u2028", "'", "\\")]
    write_results(Path(), characters=odd)
    details = read_details(MODELS)
    assert {model: losses.tolist() for model, losses in details.positions.items()} == POSITIONS
    assert sorted(details.characters, key=str) == sorted((Character(*row) for row in odd), key=str)
    assert [(pair.left, pair.found, dict(pair.distance)) for pair in details.pairs] == [
        (pair["left"], pair["found"], pair["distance"]) for pair in PAIRS
    ]
    assert list(details.attention["attention"].weights[1]) == ATTENTION["attention"]["weights"][1]
    assert details.provenance.train.steps == 5000


def test_only_the_models_that_are_asked_for_are_kept_in_their_order() -> None:
    write_results(Path())
    assert list(read_details(["attention", "bigram"]).positions) == ["attention", "bigram"]
    assert read_details(["bigram"]).attention == {}


class TestAttention:
    @pytest.mark.parametrize(
        ("where", "to", "complaint"),
        [
            (("weights", 1), [0.4, 0.5, 0.1, 0.0, 0.0], "row 1 of the weights looks ahead"),
            (("weights", 1), [0.4, 0.5, 0.0, 0.0, 0.0], "row 1 of the weights has the sum 0.900000, not 1"),
            (("weights", 2), [0.1, 0.2, 0.70001, 0.0, 0.0], "row 2 of the weights has the sum 1.000010, not 1"),
            (("weights", 2), [1.1, -0.1, 0.0, 0.0, 0.0], "weights.2.0"),
            (("weights", 0), [1.0], "not 5 rows of 5"),
            (("text",), "abcd", "not 4 rows of 4"),
            (("text",), "", "text"),
            (("by_distance",), [], "by_distance"),
        ],
    )
    def test_what_no_attention_can_be(self, where: tuple[Any, ...], to: Any, complaint: str) -> None:
        attention = changed(ATTENTION, "attention", *where, to=to)
        assert complaint in refused(paths.ATTENTION, attention=attention)

    def test_weights_that_were_rounded_may_be_a_little_off(self) -> None:
        thirds = [0.333333, 0.333333, 0.333333, 0.0, 0.0]
        write_results(Path(), attention=changed(ATTENTION, "attention", "weights", 2, to=thirds))
        read_details(MODELS)


class TestPairs:
    @pytest.mark.parametrize(
        ("where", "to", "complaint"),
        [
            ((0, "left"), "cap", "do not end in the same character"),
            ((0, "left"), "", "left"),
            ((0, "predictions", "bigram", "left", 0), ["x", 0.41], "the bigram tells apart"),
            ((0, "predictions", "attention", "left", 0, 1), 1.5, "predictions.attention.left.0.1"),
            ((1, "distance"), {"bigram": 0.0}, "of different models"),
        ],
    )
    def test_what_no_pair_can_be(self, where: tuple[Any, ...], to: Any, complaint: str) -> None:
        assert complaint in refused(paths.PAIRS, pairs=changed(PAIRS, *where, to=to))


class TestTables:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "is not a table of model, position, loss"),
            ("model,position,loss\n", "holds no losses"),
            ("model,position,loss\nbigram,0,2.5\nbigram,2,2.5\n", "does not count the positions from 0"),
            ("model,position,loss\nbigram,0,2.5\nbigram,0,2.5\n", "duplicate entries"),
            ("model,position,loss\nbigram,0,2.5\nattention,0,2.5\nattention,1,2.5\n", "lacks a finite loss"),
            ("model,position,loss\nbigram,0,inf\n", "lacks a finite number"),
            ("model,position,loss\nbigram,0.5,2.5\n", "is not a table"),
        ],
    )
    def test_positions(self, text: str, complaint: str) -> None:
        Path("table.csv").write_text(text, encoding="utf-8")
        with pytest.raises(CharlmError, match=r"^table\.csv ") as caught:
            read_positions(Path("table.csv"))
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("row", "complaint"),
        [
            ('bigram,"""ab""",lower case,1,2.5', "'ab' is not one character"),
            ('bigram,"""a",lower case,1,2.5', "is not a table"),
            ("bigram,7,lower case,1,2.5", "7 is not one character"),
            ('bigram,"""a""",lower case,1,', "lacks a finite number"),
            ('bigram,"""a""",lower case,one,2.5', "is not a table"),
        ],
    )
    def test_characters(self, row: str, complaint: str) -> None:
        Path("table.csv").write_text(f"model,character,class,count,loss\n{row}\n", encoding="utf-8")
        with pytest.raises(CharlmError, match=r"^table\.csv ") as caught:
            read_characters(Path("table.csv"))
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_model_that_is_missing_is_named(self) -> None:
        assert "says nothing of the model attention" in refused(paths.POSITIONS, positions={"bigram": [2.5]})
        only_bigram = [(*rest, {"bigram": of["bigram"]}) for *rest, of in CHARACTERS]
        assert "says nothing of the model attention" in refused(paths.CHARACTERS, characters=only_bigram)


@pytest.mark.parametrize(
    ("where", "to"),
    [(("corpus_sha256",), "86c4"), (("train", "steps"), "many"), (("models",), [1]), (("torch",), 2.13)],
)
def test_a_provenance_that_is_none(where: tuple[str, ...], to: Any) -> None:
    assert ".".join(where) in refused(paths.PROVENANCE, provenance=changed(PROVENANCE, *where, to=to))
