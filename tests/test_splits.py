"""The text becomes tokens a piece at a time, and is cut in two by position."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charlm import tokens
from charlm.errors import CharlmError
from charlm.splits import save_splits, save_tokens, survey, train_length
from charlm.text import pieces
from charlm.vocabulary import Vocabulary


def cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


# --- the first pass ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["abca", "a\r\nb", "é→😀a", "zé" * 50, "".join(map(chr, range(32, 400)))])
def test_the_survey_finds_vocabulary_and_length_whatever_the_pieces(text: str) -> None:
    for size in range(1, len(text) + 1):
        vocabulary, length = survey(cut(text, size))
        assert list(vocabulary.characters) == sorted(set(text))
        assert length == len(text)


def test_a_text_without_characters_is_refused() -> None:
    with pytest.raises(CharlmError, match="the text is empty"):
        survey([])


# --- where it is cut --------------------------------------------------------------------------------------------


def test_the_splits_of_tiny_shakespeare_are_the_standard_ones(corpus_text: str) -> None:
    assert train_length(len(corpus_text), 0.1, block_size=32) == 1_003_854
    assert len(corpus_text) - 1_003_854 == 111_540


@given(percent=st.integers(1, 99), size=st.integers(200, 10**12))
def test_the_validation_split_is_the_share_that_was_asked(percent: int, size: int) -> None:
    assert train_length(size, percent / 100, block_size=1) == size * (100 - percent) // 100


@pytest.mark.parametrize(("size", "val_fraction", "name", "found"), [(42, 0.1, "validation", 5), (42, 0.9, "train", 4)])
def test_a_split_too_short_for_one_window_says_how_many_are_needed(
    size: int, val_fraction: float, name: str, found: int
) -> None:
    with pytest.raises(CharlmError) as caught:
        train_length(size, val_fraction, block_size=5)
    assert f"the {name} split has {found} of the text's {size} characters" in str(caught.value)
    assert "needs 6 (block_size + 1)" in str(caught.value)


def test_one_window_is_enough_of_a_split() -> None:
    assert train_length(12, 0.5, block_size=5) == 6


# --- the second pass --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "abcabcabca",
        "aé→😀\na😀",
        "".join(map(chr, range(300))),
        "".join(map(chr, [*range(40, 60), *range(1000, 1040)])),
    ],
    ids=["ascii", "unicode", "16 bits", "mixed"],
)
def test_the_files_are_those_of_numpy_to_the_byte_whatever_the_pieces(tmp_path: Path, text: str) -> None:
    vocabulary = Vocabulary.of(text)
    ids = vocabulary.encode(text)
    np.save(tmp_path / "ids.npy", ids)
    save_tokens(tmp_path / "saved.npy", ids)
    assert (tmp_path / "saved.npy").read_bytes() == (tmp_path / "ids.npy").read_bytes()

    train, val = tmp_path / "train.npy", tmp_path / "val.npy"
    for border in {1, len(text) // 2, len(text) - 1}:
        np.save(tmp_path / "first.npy", ids[:border])
        np.save(tmp_path / "rest.npy", ids[border:])
        for size in range(1, len(text) + 2, max(1, len(text) // 25)):
            save_splits(train, val, cut(text, size), vocabulary, train=border, length=len(text))
            assert train.read_bytes() == (tmp_path / "first.npy").read_bytes()
            assert val.read_bytes() == (tmp_path / "rest.npy").read_bytes()
    assert tokens.load(train).tolist() + tokens.load(val).tolist() == [sorted(set(text)).index(c) for c in text]


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ("abcabcab", "the text changed while it was read: 10 characters, then 8; run it again"),
        ("abcabcabcab", "the text changed while it was read: 10 characters, then 11; run it again"),
        ("", "the text changed while it was read: 10 characters, then 0; run it again"),
        ("abcabcabcX", "character 'X' at position "),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_text_that_changes_between_the_passes_leaves_what_was_there(
    tmp_path: Path, later: str, said: str, size: int
) -> None:
    vocabulary, length = survey(["abcabcabca"])
    train, val = tmp_path / "train.npy", tmp_path / "val.npy"
    train.write_bytes(b"as it was")
    with pytest.raises(CharlmError) as caught:
        save_splits(train, val, cut(later, size), vocabulary, train=6, length=length)
    assert str(caught.value).startswith(said)
    assert {path.name for path in tmp_path.iterdir()} == {"train.npy"}
    assert train.read_bytes() == b"as it was"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
    normalise=st.booleans(),
    chunk_bytes=st.integers(1, 50),
    share=st.floats(0.01, 0.99),
)
def test_any_bytes_make_tokens_that_give_them_back_or_are_refused_with_an_offset(
    tmp_path: Path, content: bytes, normalise: bool, chunk_bytes: int, share: float
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)

    def text() -> Iterator[str]:
        return pieces(path, normalise=normalise, chunk_bytes=chunk_bytes)

    try:
        vocabulary, length = survey(text())
    except CharlmError as error:
        if offset := re.search(r" is not utf-8 at byte (\d+) \(0x(..): ", str(error)):
            content[: int(offset[1])].decode("utf-8")  # what is before it is text, or the beginning of a character
            assert content[int(offset[1])] == int(offset[2], 16)
            with pytest.raises(UnicodeDecodeError):
                content.decode("utf-8")
        else:
            assert "the text is empty" in str(error)  # noqa: PT017
            assert content in (b"", *([b"\xef\xbb\xbf"] if normalise else []))
        return
    expected = content.decode("utf-8")
    if normalise:
        expected = expected.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    train = int(length * share)
    save_splits(tmp_path / "train.npy", tmp_path / "val.npy", text(), vocabulary, train=train, length=length)
    vocabulary.save(tmp_path / "vocabulary.json")
    ids = [tokens.load(tmp_path / f"{name}.npy") for name in ("train", "val")] if 0 < train < length else []
    if ids:
        assert [len(part) for part in ids] == [train, length - train]
        back = Vocabulary.load(tmp_path / "vocabulary.json").decode(np.concatenate(ids).tolist())
        assert back == expected


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_tokens_survive_their_file(tmp_path: Path, kind: type[np.unsignedinteger]) -> None:
    ids = np.array([0, np.iinfo(kind).max, 3], dtype=kind)
    save_tokens(tmp_path / "train.npy", ids)
    found = tokens.load(tmp_path / "train.npy")
    assert found.dtype == ids.dtype
    assert found.tolist() == ids.tolist()


def test_tokens_that_lie_apart_are_saved_in_order(tmp_path: Path) -> None:
    save_tokens(tmp_path / "train.npy", np.arange(20, dtype=np.uint16)[::3])
    assert tokens.load(tmp_path / "train.npy").tolist() == [0, 3, 6, 9, 12, 15, 18]
