"""`charlm sample` writes what the models draw: the same texts however they are asked for."""

import json
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from charlm import files, paths
from charlm.cli.sample import WIDEST
from charlm.cli.screen import Screen
from charlm.sampling import generate
from charlm.vocabulary import Vocabulary
from tests.test_cli.scratch import ROOT, SEEDS, TEXT, Done, small_models, write_repository

Charlm = Callable[..., Done]
KNOWN = "".join(sorted(set(TEXT)))


def texts(done: Done) -> list[str]:
    assert done.status == 0, done.err
    return [text["text"] for text in json.loads(done.out)["texts"]]


def expected(model: str, prompt: str, length: int, temperature: float, seed: int, seed_run: int = SEEDS[0]) -> str:
    vocabulary = Vocabulary.of(TEXT)
    network = dict(zip(("bigram", "attention"), small_models(vocabulary, seed_run), strict=True))[model]
    ids = torch.from_numpy(vocabulary.encode(prompt).astype("int64"))
    return vocabulary.decode(generate(network, ids, length=length, temperature=temperature, seed=seed))


def test_what_is_not_said_is_as_in_params_yaml(charlm: Charlm) -> None:
    done = charlm("sample", "--json")
    text = expected("attention", "\n", 300, 1.0, 1)
    assert json.loads(done.out) == {
        "prompt": "", "start": "\n", "seed": 1, "seed_run": 1, "length": 300,
        "temperature": 1.0, "top_k": None, "top_p": 1.0, "stop": None,
        "texts": [{"model": "attention", "sample": 0, "text": text}],
    }  # fmt: skip
    assert charlm("sample").out == text + "\n"


def test_each_option_reaches_the_draws(charlm: Charlm) -> None:
    said = charlm(
        "sample", "--model", "bigram", "--seed-run", "2", "--prompt", "the ", "--length", "50", "--temperature", "0.7",
        "--seed", "9",
    )  # fmt: skip
    assert said.out == "the " + expected("bigram", "the ", 50, 0.7, 9, seed_run=2) + "\n"
    plain = texts(charlm("sample", "--length", "80", "--json"))
    for filters in (["--top-k", "2"], ["--top-p", "0.5"]):
        filtered = texts(charlm("sample", "--length", "80", "--json", *filters))
        assert filtered != plain
        assert len(set(filtered[0])) < len(set(plain[0]))
    assert texts(charlm("sample", "--length", "80", "--json", "--top-k", "999", "--top-p", "1")) == plain
    greedy = [texts(charlm("sample", "--temperature", "0", "--seed", seed, "--json")) for seed in "12"]
    assert greedy[0] == greedy[1] == [expected("attention", "\n", 300, 0, 1)]
    assert texts(charlm("sample", "--top-k", "1", "--json")) == greedy[0]


def test_a_seed_gives_the_same_texts_whatever_their_number(charlm: Charlm) -> None:
    many = texts(charlm("sample", "--num-samples", "35", "--length", "60", "--json"))
    assert len(set(many)) == 35
    for number in (1, 2, 16, 17):
        some = texts(charlm("sample", "--num-samples", str(number), "--length", "60", "--json"))
        assert some == many[:number]


def test_several_texts_stand_below_each_other_each_with_its_prompt(charlm: Charlm) -> None:
    some = texts(charlm("sample", "--prompt", "the", "--num-samples", "18", "--length", "20", "--json"))
    done = charlm("sample", "--prompt", "the", "--num-samples", "18", "--length", "20")
    assert done.out == "".join(f"--- text {i + 1} of 18 ---\nthe{text}\n" for i, text in enumerate(some))


@pytest.mark.parametrize("stop", ["t", "\n", "the", "at"])
def test_a_text_ends_before_its_stop(charlm: Charlm, stop: str) -> None:
    options = ("sample", "--model", "bigram", "--num-samples", "5", "--length", "400", "--json")
    whole = texts(charlm(*options))
    assert texts(charlm(*options, "--stop", stop)) == [text.split(stop)[0] for text in whole]
    assert any(stop in text for text in whole)


def test_both_models_stand_side_by_side_whole_and_once(charlm: Charlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "43")
    done = charlm("sample", "--model", "both", "--prompt", "the ", "--num-samples", "2", "--length", "90")
    options = ("--prompt", "the ", "--num-samples", "2", "--length", "90", "--json")
    apart = [texts(charlm("sample", "--model", model, *options)) for model in ("bigram", "attention")]
    parts = done.out.split("--- text ")[1:]
    for number, part in enumerate(parts):
        heading, titles, *rows = part.splitlines()
        assert heading == f"{number + 1} of 2 ---"
        assert titles.split(" │ ") == ["bigram" + " " * 14, "attention"]
        for column, model_texts in enumerate(apart):
            cells = [(row.split(" │ ") if " │ " in row else [*row.split(" │"), ""])[column] for row in rows]
            lines = ("the " + model_texts[number]).split("\n")
            wrapped = [line[i : i + 20] for line in lines for i in range(0, max(len(line), 1), 20)]
            assert [cell.rstrip() for cell in cells][: len(wrapped)] == [line.rstrip() for line in wrapped]
            assert not "".join(cells[len(wrapped) :]).strip()
    both = json.loads(charlm("sample", "--model", "both", "--prompt", "the ", "--length", "90", "--json").out)["texts"]
    assert [(text["model"], text["text"]) for text in both] == [("bigram", apart[0][0]), ("attention", apart[1][0])]


def test_a_terminal_that_claims_to_be_endless_is_given_columns_that_end(
    charlm: Charlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as while_it_runs:  # and not while pytest looks how wide its own lines may be
        while_it_runs.setenv("COLUMNS", "9" * 23)
        done = charlm("sample", "--model", "both", "--length", "2")
    assert (done.status, done.err) == (0, "")
    assert len(done.out.splitlines()[0].split(" │ ")[0]) == (WIDEST - len(" │ ")) // 2


def test_an_unknown_character_is_named_in_one_line_with_what_may_be_used(charlm: Charlm) -> None:
    done = charlm("sample", "--prompt", "th\u00e9 \U0001f600t\u00e9")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: the prompt holds '\u00e9' (2 times), '\U0001f600', which the models have never seen; "
        f"use only {KNOWN!r}, or --unknown skip to leave out what is unknown\n"
    )


def test_unknown_characters_are_left_out_when_that_is_wished(charlm: Charlm, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    done = charlm("sample", "--model", "both", "--prompt", "th\u00e9e", "--unknown", "skip", "--json")
    assert json.loads(done.out)["prompt"] == "the"
    assert caplog.messages == ["left out of the prompt, since the models have never seen it: '\u00e9'"]  # once
    assert json.loads(charlm("sample", "--prompt", "\u00e9", "--unknown", "skip", "--json").out)["start"] == "\n"


def test_an_empty_prompt_begins_after_the_most_frequent_character_where_there_is_no_newline(
    charlm: Charlm, repository: Path
) -> None:
    write_repository(repository, "abcbdbeb" * 20)
    begun = json.loads(charlm("sample", "--json").out)
    assert (begun["prompt"], begun["start"]) == ("", "b")
    paths.VOCABULARY.unlink()  # without the tokens nothing tells which
    assert json.loads(charlm("sample", "--json").out)["start"] == "a"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--model", "trigram"], "--model: there is no 'trigram'; it wants bigram or attention or both"),
        (["--seed-run", "x"], "'--seed-run': 'x' is not a valid integer range"),
        (["--length", "0"], "'--length': 0 is not in the range x>=1"),
        (["--temperature", "-1"], "'--temperature': -1.0 is not in the range 0<=x<=100"),
        (["--temperature", "nan"], "'--temperature': nan is not in the range 0<=x<=100"),
        (["--top-k", "0"], "'--top-k': 0 is not in the range x>=1"),
        (["--top-p", "0"], "'--top-p': 0.0 is not in the range 0<x<=1"),
        (["--top-p", "nan"], "'--top-p': nan is not in the range 0<x<=1"),
        (["--seed", "4294967296"], "'--seed': 4294967296 is not in the range 0<=x<=4294967295"),
        (["--num-samples", "0"], "'--num-samples': 0 is not in the range x>=1"),
        (["--unknown", "no"], "'--unknown': 'no' is not one of 'error', 'skip'"),
        (["--stop", ""], "--stop: it is empty; leave it out to end no text early"),
        (["--prompt", "\udcff"], "'--prompt': it is not UTF-8 at byte 0"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(charlm: Charlm, arguments: list[str], complaint: str) -> None:
    done = charlm("sample", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: Invalid value for {complaint}; see `charlm sample --help`\n"


def test_a_stop_that_can_never_come_is_refused(charlm: Charlm) -> None:
    done = charlm("sample", "--stop", "t\u00e9")
    assert done.status == 1
    assert done.err == f"error: --stop holds '\u00e9', which the models never write; use only {KNOWN!r}\n"


def test_a_missing_checkpoint_is_one_line_that_says_what_to_run(charlm: Charlm, repository: Path) -> None:
    remedy = "run `make repro` to make it, or `dvc pull` where a remote holds it\n"
    missing = charlm("sample", "--seed-run", "7")
    assert missing.status == 1
    assert missing.err == (
        f"error: {paths.checkpoint('attention', 7)} is not here; "
        "take one of the seeds 1, 2, or add 7 to train.seeds and run `dvc repro`\n"
    )
    for seed in SEEDS:
        (repository / paths.checkpoint("attention", seed)).unlink()
    assert charlm("sample").err == f"error: {paths.checkpoint('attention', 1)} is not here; {remedy}"


def test_a_damaged_checkpoint_is_refused(charlm: Charlm, repository: Path) -> None:
    path = repository / paths.checkpoint("attention", 1)
    files.write_bytes(path, path.read_bytes()[:-5])
    done = charlm("sample")
    assert done.status == 1
    assert "attention/seed-1.safetensors is damaged" in done.err


def test_it_works_in_any_folder_of_the_repository_and_says_so_elsewhere(
    charlm: Charlm, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = charlm("sample").out
    monkeypatch.chdir(repository / "checkpoints" / "bigram")
    assert charlm("sample").out == here
    monkeypatch.chdir(repository.parent)
    lost = charlm("sample")
    assert lost.status == 1
    assert lost.err == (
        f"error: no params.yaml in {repository.parent} nor in a folder above it; run charlm inside of the repository\n"
    )


def test_a_steering_character_does_not_reach_a_terminal(
    charlm: Charlm, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_repository(repository, "\x1b[31m\n" * 40)
    written = charlm("sample").out
    assert "\x1b" in written  # a pipe gets what the model wrote
    monkeypatch.setattr("charlm.cli.screen.Screen.__init__", as_on_a_terminal)
    assert charlm("sample").out == written.replace("\x1b", "\u241b")


def as_on_a_terminal(screen: Screen) -> None:
    screen.is_terminal, screen._coloured = True, False


def test_every_documented_command_is_accepted(charlm: Charlm, repository: Path) -> None:
    for name in ("my.txt", "old.txt"):
        (repository / name).write_text(TEXT)
    lines = [
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("charlm ")
    ]
    assert len(lines) >= 5
    for name in ("sample", "score", "inspect"):
        lines += charlm(name, "--help").out.split("Examples:\n")[1].splitlines()
    for line in lines:
        # What comes before and after the command is the shell's; the small text cannot spell the prompt.
        command = line.partition("charlm ")[2].partition("#")[0].partition(">")[0].replace("ROMEO:", "the")
        split = ["bash", "-c", f"printf '%s\\0' {command}"]
        arguments = subprocess.run(split, capture_output=True, check=True).stdout.decode().split("\0")[:-1]
        done = charlm(*arguments, stdin=TEXT.encode())
        assert (done.status, done.err) == (0, ""), line
        assert done.out, line
