"""`charlm score` gives the exact loss of a text, however long it is and whatever it holds."""

import json
import math
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm import checkpoint, paths
from charlm.cli import score as command
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.text import decoded
from charlm.vocabulary import Vocabulary
from tests.test_cli.scratch import BLOCK_SIZE, SEEDS, TEXT, Done, small_models, write_repository

Charlm = Callable[..., Done]
OWN = "the mat on the dog sat.\nat the end the cat\n"


def brute_force(model: LanguageModel, text: str, context: str) -> float:
    """Return the mean loss in nats, one character after the other."""
    ids = Vocabulary.of(TEXT).encode(text).astype(int).tolist()
    losses = []
    for place in range(1, len(ids)):
        start = (place - 1) // BLOCK_SIZE * BLOCK_SIZE if context == "windows" else max(0, place - BLOCK_SIZE)
        logits = model(torch.tensor([ids[start:place]]))[0][0, -1].double()
        losses.append(-torch.log_softmax(logits, dim=-1)[ids[place]].item())
    return math.fsum(losses) / len(losses)


def scored(done: Done) -> dict[str, Any]:
    assert done.status == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


@pytest.mark.parametrize("context", ["windows", "full"])
@pytest.mark.parametrize("text", [OWN, "th", OWN[: BLOCK_SIZE + 1], OWN[: 2 * BLOCK_SIZE + 1]])
def test_losses_are_those_of_a_sum_over_single_characters(
    charlm: Charlm, repository: Path, context: str, text: str
) -> None:
    (repository / "own.txt").write_text(text)
    found = scored(charlm("score", "own.txt", "--context", context, "--json"))
    assert (found["characters"], found["predicted"], found["unknown"]) == (len(text), len(text) - 1, {})
    losses = {(row["model"], row["seed_run"]): row["loss"] for row in found["checkpoints"]}
    for seed in SEEDS:
        for name, model in zip(("bigram", "attention"), small_models(Vocabulary.of(TEXT), seed), strict=True):
            assert losses.pop((name, seed)) == pytest.approx(brute_force(model, text, context), abs=2e-6)
    assert not losses
    for row in found["checkpoints"]:
        assert row["bits"] == pytest.approx(row["loss"] / math.log(2), rel=1e-12)
        assert row["perplexity"] == pytest.approx(math.exp(row["loss"]), rel=1e-12)
    for name, summary in found["models"].items():
        for key in ("loss", "bits", "perplexity"):
            values = [row[key] for row in found["checkpoints"] if row["model"] == name]
            assert summary[key] == pytest.approx(statistics.fmean(values), abs=1e-6)
            assert summary[f"{key}_sd"] == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_the_table_shows_the_same_numbers(charlm: Charlm, repository: Path) -> None:
    (repository / "own.txt").write_text(OWN)
    found = scored(charlm("score", "own.txt", "--json"))
    lines = charlm("score", "own.txt").out.splitlines()
    assert lines[0] == f"own.txt: {len(OWN)} characters, {len(OWN) - 1} predicted (the first has nothing before it)"
    assert (
        lines[1]
        == f"context: cut into windows of {BLOCK_SIZE} characters, as the report does; --context full for all context"
    )
    rows = [line.split() for line in lines[4:]]
    for row, line in zip(found["checkpoints"], rows, strict=False):
        numbers = [f"{row['loss']:.4f}", f"{row['bits']:.4f}", f"{row['perplexity']:.2f}"]
        assert line == [row["model"], str(row["seed_run"]), *numbers]
    for (name, summary), line in zip(found["models"].items(), rows[4:], strict=True):
        assert line[:7] == [name, "mean", "±", "sd", f"{summary['loss']:.4f}", "±", f"{summary['loss_sd']:.4f}"]


def test_one_model_and_one_run_can_be_chosen(charlm: Charlm) -> None:
    found = scored(charlm("score", "-", "--model", "attention", "--seed-run", "2", "--json", stdin=OWN.encode()))
    assert [(row["model"], row["seed_run"]) for row in found["checkpoints"]] == [("attention", 2)]
    assert found["models"]["attention"]["loss_sd"] is None
    assert "mean" not in charlm("score", "-", "--model", "attention", "--seed-run", "2", stdin=OWN.encode()).out


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_unknown_characters_are_counted_named_and_left_out(
    charlm: Charlm, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(command, "decoded", partial(decoded, chunk_bytes=chunk))
    plain = scored(charlm("score", "-", "--json", stdin=OWN.encode()))
    mixed = OWN.replace("at", "\u00e9a\U0001f600t").replace("\n", "\x00\n") + "\ufeff"
    found = scored(charlm("score", "-", "--json", stdin=mixed.encode()))
    assert found["checkpoints"] == plain["checkpoints"]
    assert found["unknown"] == {"\u00e9": 4, "\U0001f600": 4, "\x00": 2, "\ufeff": 1}
    assert (found["characters"], found["predicted"]) == (len(mixed), len(OWN) - 1)
    assert charlm("score", "-", stdin=mixed.encode()).out.splitlines()[1] == (
        "left out, since the models do not know them: 11 characters, "
        "'\u00e9' (4 times), '\U0001f600' (4 times), '\\x00' (2 times), '\\ufeff'"
    )


@pytest.mark.parametrize("chunk", [1, 2, 3, 1 << 20])
def test_a_text_from_windows_is_read_as_the_pipeline_reads_it(
    charlm: Charlm, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(command, "decoded", partial(decoded, chunk_bytes=chunk))
    plain = scored(charlm("score", "-", "--json", stdin=OWN.encode()))
    assert plain["changes"] == ""
    windows = "\ufeff" + OWN.replace("\n", "\r\n")
    changes = "a byte-order mark left out, line ends CR LF made newlines"
    found = scored(charlm("score", "-", "--json", stdin=windows.encode()))
    assert found == plain | {"changes": changes}
    said = charlm("score", "-", stdin=windows.encode()).out.splitlines()
    assert said[1] == f"first changed, as in the text that the models learned from: {changes}"


def test_where_the_models_learned_from_the_text_as_it_was_it_is_scored_as_it_is(
    charlm: Charlm, repository: Path
) -> None:
    write_repository(repository, "\ufeff" + TEXT.replace("\n", "\r\n"))
    change(repository, "normalise: true", "normalise: false")
    windows = "\ufeff" + OWN.replace("\n", "\r\n")
    found = scored(charlm("score", "-", "--json", stdin=windows.encode()))
    assert (found["characters"], found["unknown"], found["changes"]) == (len(windows), {}, "")


def test_a_text_is_in_the_encoding_of_the_one_that_the_models_learned_from(charlm: Charlm, repository: Path) -> None:
    accented = OWN.replace("dog", "d\u00e9g")
    expected = scored(charlm("score", "-", "--json", stdin=accented.encode()))
    change(repository, "encoding: utf-8", "encoding: latin-1")
    assert scored(charlm("score", "-", "--json", stdin=accented.encode("latin-1"))) == expected
    assert scored(charlm("score", "-", "--json", "--encoding", "utf-8", stdin=accented.encode())) == expected


def change(repository: Path, old: str, new: str) -> None:
    path = repository / paths.PARAMS
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_a_text_of_another_encoding_is_read_by_its_name(charlm: Charlm, encoding: str) -> None:
    accented = OWN.replace("dog", "d\u00e9g")
    expected = scored(charlm("score", "-", "--json", stdin=accented.encode()))
    assert expected["unknown"] == {"\u00e9": 1}
    assert scored(charlm("score", "-", "--json", "--encoding", encoding, stdin=accented.encode(encoding))) == expected


@pytest.mark.parametrize("name", ["latin-9000", "", "idna", "utf-7", "unicode_escape", "a\x00b"])
def test_an_encoding_that_makes_no_text_is_wrong_usage(charlm: Charlm, name: str) -> None:
    done = charlm("score", "-", "--encoding", name, stdin=OWN.encode())
    assert (done.status, done.out) == (2, "")
    assert f"'{name}' is no encoding that Python knows, such as utf-8, latin-1 or gb18030" in done.err


def test_of_many_unknown_characters_the_most_frequent_are_named(charlm: Charlm) -> None:
    chinese = "".join(chr(0x4E00 + i) * (i + 1) for i in range(30))
    line = charlm("score", "-", stdin=(OWN + chinese).encode()).out.splitlines()[1]
    assert f"465 characters, {chr(0x4E1D)!r} (30 times), {chr(0x4E1C)!r} (29 times), " in line
    assert line.endswith(" and 10 others")


@pytest.mark.parametrize("chunk", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"the c\xe9t", "is not utf-8 at byte 5 (0xe9: invalid continuation byte)"),
        ("\u00e9\u20ac".encode() + b"\xff", "is not utf-8 at byte 5 (0xff: invalid start byte)"),
        ("the \u20ac".encode()[:-1], "is not utf-8 at byte 4 (0xe2: unexpected end of data)"),
    ],
)
def test_bytes_that_are_not_utf8_are_named_with_their_place(
    charlm: Charlm, monkeypatch: pytest.MonkeyPatch, content: bytes, complaint: str, chunk: int
) -> None:
    monkeypatch.setattr(command, "decoded", partial(decoded, chunk_bytes=chunk))
    done = charlm("score", "-", stdin=content)
    assert (done.status, done.out) == (1, "")
    assert done.err == f"error: standard input {complaint}; say what it is, for instance --encoding latin-1 or utf-16\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "too few characters: 0"),
        (b"t", "too few characters: 1"),
        ("\u00e9\u00e9t".encode(), "too few characters (of 3) that the models know: 1"),
    ],
)
def test_a_text_too_short_to_predict_is_refused(charlm: Charlm, content: bytes, complaint: str) -> None:
    done = charlm("score", "-", stdin=content)
    assert done.status == 1
    assert done.err == f"error: standard input has {complaint}; a loss wants 2, the first to begin after\n"


def test_a_file_that_is_not_there_is_one_line(charlm: Charlm, repository: Path) -> None:
    done = charlm("score", "nothing.txt")
    assert (done.status, done.err) == (1, f"error: No such file or directory: {repository / 'nothing.txt'}\n")
    assert charlm("score", "checkpoints").err == f"error: Is a directory: {repository / 'checkpoints'}\n"
    assert charlm("score").status == 2


def test_a_name_that_is_no_text_is_told_by_its_bytes(charlm: Charlm, repository: Path) -> None:
    (repository / "caf\udce9.txt").write_text(OWN)
    assert charlm("score", "caf\udce9.txt").out.startswith("caf\\xe9.txt: ")
    assert scored(charlm("score", "caf\udce9.txt", "--json"))["file"] == "caf\\xe9.txt"


def test_the_file_is_found_from_where_the_command_is_called(
    charlm: Charlm, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.parent / "own.txt").write_text(OWN)
    monkeypatch.chdir(repository / "data")
    assert scored(charlm("score", "../../own.txt", "--json"))["characters"] == len(OWN)


def test_checkpoints_of_different_texts_are_not_compared(charlm: Charlm, repository: Path) -> None:
    other = Vocabulary.of("abc")
    model = BigramLanguageModel(vocab_size=3, block_size=BLOCK_SIZE)
    checkpoint.save(repository / paths.checkpoint("bigram", 2), model, other)
    done = charlm("score", "-", stdin=OWN.encode())
    assert done.status == 1
    assert "different vocabularies" in done.err
