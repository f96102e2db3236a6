"""Characters become ids and come back."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charlm.errors import CharlmError
from charlm.vocabulary import Characters, Vocabulary

TEXTS = st.text(min_size=1)


def distinct_characters(count: int) -> str:
    """Return that many characters from ASCII upwards, without the surrogates, which no text holds."""
    return "".join(chr(code) for code in range(count + 2048) if not 0xD800 <= code < 0xE000)[:count]


@given(TEXTS)
def test_a_text_survives_the_way_to_ids_and_back(text: str) -> None:
    vocabulary = Vocabulary.of(text)
    assert vocabulary.decode(vocabulary.encode(text)) == text


@given(TEXTS)
def test_an_id_is_the_place_among_the_sorted_distinct_characters(text: str) -> None:
    ordered = sorted(set(text))
    vocabulary = Vocabulary.of(text)
    assert list(vocabulary.characters) == ordered
    assert len(vocabulary) == len(ordered)
    assert vocabulary.encode(text).tolist() == [ordered.index(character) for character in text]


@given(st.lists(st.text(max_size=5) | st.text(st.characters(codec="ascii"), max_size=5), max_size=8))
def test_the_characters_of_a_text_in_pieces_are_those_of_the_whole(parts: list[str]) -> None:
    characters = Characters()
    for n, part in enumerate(parts, start=1):
        characters.add(part)
        assert characters.sorted() == sorted(set("".join(parts[:n])))


@given(
    known=st.text(st.characters(codec="ascii"), min_size=1) | TEXTS,
    text=st.text(st.characters(codec="ascii"), max_size=8),
)
def test_ascii_takes_a_way_of_its_own_to_the_same_ids(known: str, text: str) -> None:
    vocabulary = Vocabulary.of(known)
    unknown = [place for place, character in enumerate(text) if character not in known]
    if unknown:
        with pytest.raises(CharlmError, match=rf" at position {unknown[0]} is not among"):
            vocabulary.encode(text)
    else:
        assert vocabulary.encode(text).tolist() == [sorted(set(known)).index(character) for character in text]
        assert vocabulary.encode(text).dtype == vocabulary.dtype


def test_ascii_characters_have_the_type_of_the_others_beside_them() -> None:
    vocabulary = Vocabulary.of(distinct_characters(300))
    assert vocabulary.encode("abc").dtype == vocabulary.encode("ab\u0100").dtype == np.uint16


@pytest.mark.parametrize("size", [254, 255, 256, 257, 65_535, 65_536])
def test_a_character_that_is_new_has_no_id_where_a_type_has_just_enough_of_them(size: int) -> None:
    characters = sorted(set(distinct_characters(size + 1)) - {"~"})
    vocabulary = Vocabulary(characters)
    assert len(vocabulary) == size
    for new in "~", "\U0010ffff":
        for text in new, "a" + new, characters[-1] + new:
            with pytest.raises(CharlmError, match=rf"'.*' at position {len(text) - 1} is not among the {size} of"):
                vocabulary.encode(text)
    assert vocabulary.encode("a" + characters[-1]).tolist() == [characters.index("a"), size - 1]


def test_an_empty_text_has_no_ids() -> None:
    assert Vocabulary.of("ab").encode("").tolist() == []


@pytest.mark.parametrize(
    ("size", "bits"), [(1, 8), (65, 8), (256, 8), (257, 16), (65536, 16), (65537, 32), (1_112_064, 32)]
)
def test_ids_are_of_the_smallest_unsigned_type_that_holds_them(size: int, bits: int) -> None:
    text = distinct_characters(size)
    ids = Vocabulary.of(text).encode(text)
    assert ids.dtype == np.dtype(f"uint{bits}")
    assert np.array_equal(ids, np.arange(size))


@given(TEXTS, TEXTS)
def test_a_character_without_an_id_is_named_with_its_place(known: str, text: str) -> None:
    vocabulary = Vocabulary.of(known)
    unknown = [place for place, character in enumerate(text) if character not in known]
    if not unknown:
        assert vocabulary.decode(vocabulary.encode(text)) == text
        return
    with pytest.raises(CharlmError) as caught:
        vocabulary.encode(text)
    assert f"{text[unknown[0]]!r} at position {unknown[0]} " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("characters", [[], ["b", "a"], ["a", "a"], ["ab"], ["a", ""]])
def test_what_is_no_vocabulary_is_refused(characters: list[str]) -> None:
    with pytest.raises(CharlmError, match=r"^a vocabulary (needs|wants)"):
        Vocabulary(characters)


@given(text=TEXTS)
def test_a_vocabulary_survives_its_file(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "vocabulary.json"
    Vocabulary.of(text).save(path)
    assert Vocabulary.load(path) == Vocabulary.of(text)
    assert json.loads(path.read_bytes().decode("utf-8")) == {"characters": sorted(set(text))}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"{}",
        b'{"characters": 3}',
        b'{"characters": null}',
        b'{"characters": []}',
        b'{"characters": [1, 2]}',
        b'{"characters": ["b", "a"]}',
        b'{"characters": ["\xff"]}',
        pickle.dumps({"characters": ["a", "b"]}),
    ],
)
def test_a_file_that_holds_no_vocabulary_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_bytes(content)
    with pytest.raises(CharlmError) as caught:
        Vocabulary.load(path)
    assert str(path) in str(caught.value)


def test_vocabularies_are_equal_when_their_characters_are() -> None:
    assert Vocabulary.of("abc") == Vocabulary.of("cabbac")
    assert hash(Vocabulary.of("abc")) == hash(Vocabulary.of("cabbac"))
    assert Vocabulary.of("abc") != Vocabulary.of("abd")
    assert Vocabulary.of("abc") != "abc"


def test_tiny_shakespeare_has_65_characters(corpus_text: str) -> None:
    vocabulary = Vocabulary.of(corpus_text)
    assert "".join(vocabulary.characters) == ("\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    assert vocabulary.decode(vocabulary.encode(corpus_text)) == corpus_text
