"""The text is read as it is, and cut in two by position."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charlm import tokens
from charlm.errors import CharlmError
from charlm.splits import read_text, save_tokens, split
from charlm.vocabulary import Vocabulary


def test_the_splits_of_tiny_shakespeare_are_the_standard_ones(corpus_text: str) -> None:
    ids = Vocabulary.of(corpus_text).encode(corpus_text)
    train, val = split(ids, 0.1, block_size=32)
    assert (len(train), len(val)) == (1_003_854, 111_540)
    assert np.array_equal(train, ids[:1_003_854])
    assert np.array_equal(val, ids[1_003_854:])


@given(percent=st.integers(1, 99), size=st.integers(200, 10_000))
def test_the_validation_split_is_the_share_that_was_asked(percent: int, size: int) -> None:
    ids = np.arange(size)
    train, val = split(ids, percent / 100, block_size=1)
    assert len(train) == size * (100 - percent) // 100
    assert np.array_equal(np.concatenate([train, val]), ids)


@pytest.mark.parametrize(("size", "val_fraction", "name", "found"), [(42, 0.1, "validation", 5), (42, 0.9, "train", 4)])
def test_a_split_too_short_for_one_window_says_how_many_are_needed(
    size: int, val_fraction: float, name: str, found: int
) -> None:
    with pytest.raises(CharlmError) as caught:
        split(np.arange(size), val_fraction, block_size=5)
    assert f"the {name} split has {found} of the text's {size} characters" in str(caught.value)
    assert "needs 6 (block_size + 1)" in str(caught.value)


def test_one_window_is_enough_of_a_split() -> None:
    train, val = split(np.arange(12), 0.5, block_size=5)
    assert (len(train), len(val)) == (6, 6)


def test_a_text_is_read_character_for_character(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes("\ufeffa\r\nb\rc\n\u2028 é→😀\x00".encode())
    assert read_text(path) == "\ufeffa\r\nb\rc\n\u2028 é→😀\x00"


@pytest.mark.parametrize(("content", "offset"), [(b"abc\xffd", 3), (b"\xed\xa0\x80", 0), (b"ab\xe2\x82", 2)])
def test_a_text_that_is_not_utf8_is_refused_with_the_offset_of_the_byte(
    tmp_path: Path, content: bytes, offset: int
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(CharlmError, match=rf"corpus\.txt is not UTF-8 at byte {offset} \(0x{content[offset]:02x}: "):
        read_text(path)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_make_tokens_that_give_them_back_or_are_refused_with_an_offset(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    try:
        text = read_text(path)
        vocabulary = Vocabulary.of(text)
    except CharlmError as error:
        offset = re.search(r"is not UTF-8 at byte (\d+)", str(error))
        if offset is None:
            assert content == b"", error  # noqa: PT017
        else:
            content[: int(offset[1])].decode("utf-8")  # what is before it is text
        return
    save_tokens(tmp_path / "train.npy", vocabulary.encode(text))
    vocabulary.save(tmp_path / "vocabulary.json")
    back = Vocabulary.load(tmp_path / "vocabulary.json").decode(tokens.load(tmp_path / "train.npy").tolist())
    assert back.encode("utf-8") == content


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_tokens_survive_their_file(tmp_path: Path, kind: type[np.unsignedinteger]) -> None:
    ids = np.array([0, np.iinfo(kind).max, 3], dtype=kind)
    save_tokens(tmp_path / "train.npy", ids)
    found = tokens.load(tmp_path / "train.npy")
    assert found.dtype == ids.dtype
    assert found.tolist() == ids.tolist()
