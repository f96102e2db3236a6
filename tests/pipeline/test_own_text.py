"""Texts of one's own, of each kind that people bring, through the real stages."""

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pipeline.repository import STAGES, Repository
from tests.servers import Server, serving, whole

VERSE = "To be, or not to be, that is the question:\nWhether 'tis nobler in the mind to suffer\n"
LINES = "".join(f"{number}. {VERSE}" for number in range(40))
FRENCH = "Où êtes-vous, garçon ? Ça, c'est déjà l'été.\n" * 40
HASTE = {"train__steps": "10", "train__eval_interval": "5", "evaluate__resamples": "100", "evaluate__length": "20"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def home(fresh: Repository, tmp_path: Path) -> Repository:
    """A clone whose only source is texts/mine.txt, a file that is yet to come, and that pins no hash."""
    repository = fresh.clone(tmp_path / "a clone")
    del repository.environment["CHARLM_CORPUS"]
    repository.set(data__sha256="null", data__sources="[{file: texts/mine.txt}]", **HASTE)
    return repository


def put(home: Repository, text: str | bytes, name: str = "mine.txt") -> Path:
    """Write one of the own texts."""
    path = home.path / "texts" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def tokenize(home: Repository) -> str:
    """Run the first two stages, and return what they said."""
    return home.run("dvc", "repro", "tokenize")


def refusal(home: Repository, stage: str = "tokenize") -> str:
    """Run as far as `stage`, and return the line with which one ends."""
    [line] = [line for line in home.run("dvc", "repro", stage, status=255).splitlines() if line.startswith("error: ")]
    return line.removeprefix("error: ")


def check(home: Repository) -> str:
    """Return what `make check` finds; it finds something, since only the first stages have run."""
    return home.run("python", "-m", "tools.check", status=1)


def learnt_from(home: Repository) -> str:
    """Return the text that the token files hold."""
    tokens = home.path / "data" / "tokens"
    characters = json.loads((tokens / "vocabulary.json").read_text("utf-8"))["characters"]
    ids = np.concatenate([np.load(tokens / "train.npy"), np.load(tokens / "val.npy")])
    return "".join(characters[i] for i in ids)


def reported(home: Repository, text: str) -> dict[str, Any]:
    """Run everything; check the results against the text itself, and return the metrics."""
    assert set(home.repro()) | {"download", "tokenize"} == set(STAGES)
    assert learnt_from(home) == text
    metrics: dict[str, Any] = json.loads((home.path / "reports/metrics.json").read_text("utf-8"))
    samples = json.loads((home.path / "reports/samples.json").read_text("utf-8"))
    assert metrics["tokens"]["val"] == len(text) - int(len(text) * 9 / 10) - 1
    assert metrics["counts"]["uniform"]["val_loss"] == pytest.approx(math.log(len(set(text))), abs=1e-6)
    assert set("".join(sample["text"] for sample in samples["texts"])) <= set(text)
    for model in ("bigram", "attention"):
        assert f"| `{model}` |" in (home.path / "reports/report.md").read_text("utf-8")
    assert home.repro() == []
    return metrics


# --- where it lies ------------------------------------------------------------------------------------------------


def test_a_file_whose_changes_dvc_sees(home: Repository) -> None:
    put(home, LINES)
    assert f"data/raw/corpus.txt: {len(LINES)} bytes from texts/mine.txt" in tokenize(home)
    assert learnt_from(home) == LINES
    assert home.stale().isdisjoint({"download", "tokenize"})

    put(home, LINES + VERSE)
    tokenize(home)
    assert learnt_from(home) == LINES + VERSE

    put(home, "of an editor", ".mine.txt.swp")
    assert home.stale().isdisjoint({"download", "tokenize"})


def test_a_file_with_a_hash_that_is_not_its_own_any_more(home: Repository) -> None:
    home.set(data__sha256=hashlib.sha256(LINES.encode()).hexdigest())
    put(home, LINES)
    tokenize(home)
    put(home, LINES + VERSE)
    found = hashlib.sha256((LINES + VERSE).encode()).hexdigest()
    assert f"texts/mine.txt: {len(LINES + VERSE)} bytes with SHA-256 {found}, not " in refusal(home)
    home.set(data__sha256=found)
    tokenize(home)
    assert learnt_from(home) == LINES + VERSE


def test_a_file_that_is_not_there(home: Repository) -> None:
    assert refusal(home).startswith("no source has the text: texts/mine.txt: No such file or directory. ")


def test_a_url_with_a_hash(home: Repository, server: Server) -> None:
    url = server.on("/", whole(LINES.encode()))
    home.set(data__sources=f"[{{url: '{url}'}}]", data__sha256=hashlib.sha256(LINES.encode()).hexdigest())
    assert f"data/raw/corpus.txt: {len(LINES)} bytes from {url}" in tokenize(home)
    assert learnt_from(home) == LINES

    server.on("/", whole(VERSE.encode()))
    home.set(data__sha256=hashlib.sha256(b"yet another").hexdigest())
    assert f"{url}: {len(VERSE)} bytes with SHA-256 " in refusal(home)


def test_a_folder(home: Repository) -> None:
    home.set(data__sources="[{folder: texts/plays, pattern: '*.txt'}]")
    for name, text in {"b.txt": LINES[:1500], "a.txt": LINES[1500:].rstrip("\n"), "c.md": "no play"}.items():
        put(home, text, f"plays/{name}")
    said = tokenize(home)
    assert "texts/plays/*.txt: 2 files joined, from texts/plays/a.txt to texts/plays/b.txt" in said
    assert learnt_from(home) == LINES[1500:] + LINES[:1500]

    assert "download" not in home.stale()
    put(home, VERSE, "plays/d.txt")
    assert "download" in home.stale()


def test_a_large_file_that_is_shared_by_dvc(home: Repository, tmp_path: Path) -> None:
    put(home, LINES)
    tokenize(home)
    assert "texts/mine.txt is not in Git" in check(home)
    home.run("dvc", "add", "texts/mine.txt")
    tokenize(home)
    home.run("dvc", "remote", "add", "-d", "shared", str(tmp_path / "shared"))
    home.run("dvc", "push")
    home.run("git", "add", "--all")
    assert "texts" not in check(home)
    assert "texts/mine.txt\n" not in home.run("git", "ls-files")
    home.run("git", "commit", "--quiet", "--message", "A large text")

    colleague = home.clone(tmp_path / "a colleague's")
    colleague.run("dvc", "pull", "texts/mine.txt")
    tokenize(colleague)
    assert learnt_from(colleague) == LINES
    assert colleague.stale().isdisjoint({"download", "tokenize"})


# --- what is in it ------------------------------------------------------------------------------------------------


def test_windows_line_ends_and_a_mark(home: Repository) -> None:
    windows = ("\ufeff" + LINES).replace("\n", "\r\n")
    path = put(home, windows)
    assert (
        "data/raw/corpus.txt: a byte-order mark left out, line ends CR LF made newlines; "
        "tokenize.normalise: false keeps the text as it is"
    ) in tokenize(home)
    assert learnt_from(home) == LINES

    home.set(tokenize__normalise="false")
    assert "left out" not in tokenize(home)
    assert learnt_from(home) == windows

    home.run("git", "add", "--all")
    home.run("git", "commit", "--quiet", "--message", "A text from Windows")
    colleague = home.clone(home.path.parent / "a colleague's")
    assert (colleague.path / "texts" / path.name).read_bytes() == windows.encode()


def test_marks_within_a_folder_of_texts_from_windows(home: Repository) -> None:
    home.set(data__sources="[{folder: texts, pattern: '*.txt'}]")
    for number in range(3):
        put(home, ("\ufeff" + LINES.rstrip("\n")).replace("\n", "\r\n"), f"{number}.txt")
    tokenize(home)
    assert learnt_from(home) == (LINES * 3).rstrip("\n")


def test_chinese_emoji_and_combining_characters_to_the_report(home: Repository) -> None:
    text = "床前明月光，疑是地上霜。\n舉頭望明月，低頭思故鄉。\n👩\u200d👩\u200d👧 🙂🇨🇳 e\u0301n\u0303 क्षि 𠮷\n" * 40
    put(home, text)
    home.set(evaluate__prompt='"明月"', evaluate__context_pairs="[[明月, 望明月]]")
    said = tokenize(home)
    assert f"{len(text)} characters, {len(set(text))} distinct" in said
    reported(home, text)
    assert "明月" in (home.path / "reports/report.md").read_text("utf-8")


def test_a_text_of_200_characters(home: Repository) -> None:
    text = (VERSE * 3)[:200]
    put(home, text)
    line = refusal(home)
    assert line.startswith("the validation split has 20 of the text's 200 characters, and one window needs 33 ")
    assert "a smaller train.block_size, or another tokenize.val_fraction" in line

    home.set(train__block_size="16")
    home.run("dvc", "repro", "evaluate")
    assert learnt_from(home) == text
    metrics = json.loads((home.path / "reports/metrics.json").read_text("utf-8"))
    assert metrics["tokens"] == {"train": 179, "val": 19}


def test_one_distinct_character_to_the_report(home: Repository) -> None:
    """There is nothing to learn and nothing to show; that is what the report says."""
    put(home, "a" * 400)
    metrics = reported(home, "a" * 400)
    for model in metrics["models"].values():
        assert (model["val_loss"], model["val_perplexity"], model["val_accuracy"]) == (0, 1, 1)
    assert {row["val_loss"] for name, row in metrics["counts"].items() if name.startswith("kneser_ney")} == {0}
    assert "**No difference shown" in (home.path / "reports/report.md").read_text("utf-8")


def test_latin_1_is_named_by_the_byte_and_read_when_it_is_said(home: Repository) -> None:
    content = FRENCH.encode("latin-1")
    put(home, content)
    line = refusal(home)
    assert line.startswith(f"data/raw/corpus.txt is not utf-8 at byte {content.index(0xF9)} (0xf9: ")
    assert "set tokenize.encoding to what it is, for instance latin-1" in line

    home.set(tokenize__encoding="latin-1")
    tokenize(home)
    assert learnt_from(home) == FRENCH


def test_an_empty_file(home: Repository) -> None:
    put(home, "")
    assert "texts/mine.txt: 0 bytes, no text" in refusal(home)
