"""A text is the same in whatever pieces it is read, and what is no text is refused with the byte's place."""

import codecs
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charlm.errors import CharlmError
from charlm.text import pieces

MARK = "\ufeff"
# Characters of one to four bytes in UTF-8, surrogate pairs in UTF-16, lone and paired line ends.
TEXT = "a\r\nb\rc\n\r\n\r\r\n\u2028 é→𝄞😀\x00\x85\u4f60\u597d\r"
NORMAL = "a\nb\nc\n\n\n\n\u2028 é→𝄞😀\x00\x85\u4f60\u597d\n"


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that many examples write anew."""
    return tmp_path_factory.mktemp("texts") / "corpus.txt"


def in_all_pieces(
    path: Path, content: bytes, encoding: str = "utf-8", *, normalise: bool = False
) -> tuple[str, list[str]]:
    """Return the text of `content` and what was said, or the error, which is the same at every size of the chunks."""
    path.write_bytes(content)
    outcomes = []
    for chunk_bytes in range(1, len(content) + 2):
        said: list[str] = []
        try:
            found = list(pieces(path, encoding, normalise=normalise, say=said.append, chunk_bytes=chunk_bytes))
        except CharlmError as error:
            outcomes.append((str(error), said))
            continue
        assert all(found), "no piece is empty"
        assert max(map(len, found), default=0) <= chunk_bytes + 8, "and none is much longer than its bytes"
        outcomes.append(("".join(found), said))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


# --- every size of the chunks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", TEXT),
        ("utf-8", MARK + TEXT),
        ("utf-8-sig", TEXT),
        ("utf-16", TEXT),
        ("utf-16-le", MARK + TEXT),
        ("utf-16-be", TEXT),
        ("utf-32", TEXT),
        ("utf-7", TEXT),
        ("gb18030", TEXT),
        ("gb18030", MARK + TEXT),
        ("shift_jis", "あ\r\nい\rｱ\n"),
        ("iso2022_jp", "a\r\nあい\rb\n"),
        ("latin-1", "a\r\nb\rc\né\xff\x85\r"),
        ("cp1252", "a\r\n€\r\n"),
        ("ascii", "a\r\nb\rc\n\r"),
    ],
)
def test_without_normalising_a_text_is_character_for_character_what_its_bytes_make(
    path: Path, encoding: str, text: str
) -> None:
    content = text.encode(encoding)
    assert in_all_pieces(path, content, encoding) == (content.decode(encoding), [])
    assert content.decode(encoding) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030"])
@pytest.mark.parametrize("marked", [True, False])
def test_normalised_it_has_no_mark_at_the_start_and_newlines_alone(path: Path, encoding: str, marked: bool) -> None:
    content = ((MARK if marked else "") + TEXT + MARK).encode(encoding)
    text, said = in_all_pieces(path, content, encoding, normalise=True)
    assert text == NORMAL + MARK, "a mark that is not at the start is a character"
    changes = ("a byte-order mark left out, " if marked else "") + "line ends CR and CR LF made newlines"
    assert said == [f"{path}: {changes}; tokenize.normalise: false keeps the text as it is"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    text=st.text(st.sampled_from("\r\n\ufeffab é→😀\x1a"), max_size=12) | st.text(max_size=12),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-16-le", "gb18030"]),
    normalise=st.booleans(),
)
def test_any_text_in_any_pieces_is_the_text_in_one(path: Path, text: str, encoding: str, normalise: bool) -> None:
    found, said = in_all_pieces(path, text.encode(encoding), encoding, normalise=normalise)
    if not normalise:
        assert (found, said) == (text, [])
        return
    unmarked = text.removeprefix(MARK)
    assert found == unmarked.replace("\r\n", "\n").replace("\r", "\n")
    assert bool(said) == (found != text), "what is not changed is not spoken of"


# --- what is said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a\nb", None),
        ("", None),
        ("a\r\nb\n", "line ends CR LF made newlines"),
        ("a\rb", "line ends CR made newlines"),
        ("a\rb\r\nc\n", "line ends CR and CR LF made newlines"),
        ("a\r", "line ends CR made newlines"),
        (MARK, "a byte-order mark left out"),
        (MARK + "a\r\n", "a byte-order mark left out, line ends CR LF made newlines"),
        ("a" + MARK, None),
    ],
)
def test_one_line_says_what_was_changed(path: Path, text: str, changes: str | None) -> None:
    expected = [f"{path}: {changes}; tokenize.normalise: false keeps the text as it is"] if changes else []
    assert in_all_pieces(path, text.encode(), normalise=True)[1] == expected
    assert in_all_pieces(path, text.encode())[1] == []


def test_an_empty_file_has_no_pieces(path: Path) -> None:
    path.write_bytes(b"")
    assert list(pieces(path)) == list(pieces(path, "utf-16", normalise=True)) == []


def test_a_large_file_comes_in_pieces_of_a_megabyte(path: Path) -> None:
    path.write_bytes(b"a" * 2_500_000)
    assert [len(piece) for piece in pieces(path)] == [1 << 20, 1 << 20, 2_500_000 - (2 << 20)]


# --- what is no text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "encoding", "offset", "reason"),
    [
        (b"abc\xffd", "utf-8", 3, "invalid start byte"),
        (b"\xed\xa0\x80", "utf-8", 0, "invalid continuation byte"),
        (b"ab\xe2\x82", "utf-8", 2, "unexpected end of data"),
        (b"\xf0\x9f\x98\x80\xf0\x9f\x98", "utf-8", 4, "unexpected end of data"),
        (b"\xef\xbb\xbfab\xffc", "utf-8", 5, "invalid start byte"),
        (b"\xef\xbb\xbfab\xffc", "utf-8-sig", 5, "invalid start byte"),
        ("é→".encode() + b"\xe2\x28\xa1", "utf-8", 5, "invalid continuation byte"),
        (b"a\r\n\r\xff\n", "utf-8", 4, "invalid start byte"),
        (b"abc\xe9d", "ascii", 3, "ordinal not in range(128)"),
        (b"ab\x81", "cp1252", 2, "character maps to <undefined>"),
        ("ab".encode("utf-16-le") + b"\x00\xdca\0", "utf-16-le", 4, "illegal encoding"),
        ("ab".encode("utf-16") + b"c", "utf-16", 6, "truncated data"),
        ("a😀".encode("utf-16-le")[:-2], "utf-16-le", 2, "unexpected end of data"),
        ("a你".encode("gb18030") + b"\xff\xff", "gb18030", 3, "illegal multibyte sequence"),
        ("a你".encode("gb18030") + b"\x81", "gb18030", 3, "incomplete multibyte sequence"),
        ("aあ".encode("shift_jis") + b"\x82", "shift_jis", 3, "incomplete multibyte sequence"),
    ],
)
@pytest.mark.parametrize("normalise", [True, False])
def test_bytes_of_another_encoding_are_refused_with_the_offset_of_the_first(
    path: Path, content: bytes, encoding: str, offset: int, reason: str, normalise: bool
) -> None:
    error, said = in_all_pieces(path, content, encoding, normalise=normalise)
    assert said == []
    assert error == (
        f"{path} is not {encoding} at byte {offset} (0x{content[offset]:02x}: {reason}); "
        "set tokenize.encoding to what it is, for instance latin-1, or convert what data.sources or CHARLM_CORPUS names"
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    content=st.binary(max_size=24)
    | st.builds(lambda text, rest: text.encode() + rest, st.text(max_size=5), st.binary(max_size=3)),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-be", "gb18030", "shift_jis", "cp1252"]),
)
def test_any_bytes_are_the_text_that_python_decodes_or_refused_where_it_refuses_them(
    path: Path, content: bytes, encoding: str
) -> None:
    found, _ = in_all_pieces(path, content, encoding)
    try:
        expected = content.decode(encoding)
    except UnicodeDecodeError as error:
        start = error.start
        if encoding == "utf-8-sig" and content.startswith(codecs.BOM_UTF8):
            start += 3  # which Python forgets
        expected = f"{path} is not {encoding} at byte {start} (0x{content[start]:02x}: {error.reason}); set "
    assert found.startswith(expected) if " is not " in expected else found == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_text_that_does_not_say_the_order_of_its_bytes_is_refused(path: Path, encoding: str) -> None:
    error, _ = in_all_pieces(path, "abc".encode(f"{encoding}-le"), encoding)
    assert error.startswith(f"{path} is not {encoding}")
    assert "tream does not start with BOM" in error


def test_what_comes_before_a_bad_byte_is_still_read(path: Path) -> None:
    path.write_bytes(b"abc\xffd")
    found: list[str] = []
    with pytest.raises(CharlmError):
        found.extend(pieces(path, chunk_bytes=2))
    assert found == ["ab"]


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        list(pieces(tmp_path / "none.txt"))
