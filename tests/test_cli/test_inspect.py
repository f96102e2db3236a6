"""`charlm inspect` tells what lies here: checkpoints and text."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm import files, paths
from tests.test_cli.scratch import BLOCK_SIZE, ROOT, SEEDS, TEXT, Done

Charlm = Callable[..., Done]
REMEDY = "run `make repro` to make it, or `dvc pull` where a remote holds it"
V = len(set(TEXT))


def test_checkpoints_are_told_by_shape_parameters_vocabulary_and_training(charlm: Charlm, repository: Path) -> None:
    found = json.loads(charlm("inspect", "--json").out)["checkpoints"]
    assert [(row["model"], row["training"]) for row in found] == [
        (model, {"seed": seed, "steps": 0}) for model in ("bigram", "attention") for seed in SEEDS
    ]
    for row in found:
        assert row["characters"] == sorted(set(TEXT))
        assert row["shape"]["block_size"] == BLOCK_SIZE
        assert row["sha256"] == hashlib.sha256((repository / row["file"]).read_bytes()).hexdigest()
    assert found[0]["weights"] == {"token_embedding_table.weight": [V, V]}
    assert found[0]["parameters"] == V * V
    assert found[-1]["parameters"] == 6 * (V + BLOCK_SIZE) + 3 * 5 * 6 + (5 + 1) * V


def test_the_corpus_is_told_by_its_characters(charlm: Charlm) -> None:
    found = json.loads(charlm("inspect", "--json").out)["corpus"]
    assert found["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert (found["characters"], found["distinct"]) == (len(TEXT), V)
    assert (found["train"], found["validation"]) == (len(TEXT) * 9 // 10, len(TEXT) - len(TEXT) * 9 // 10)
    assert found["counts"] == Counter(TEXT)
    assert list(found["counts"].values()) == sorted(found["counts"].values(), reverse=True)


def test_what_runs_share_is_said_once(charlm: Charlm) -> None:
    lines = charlm("inspect").out.splitlines()
    assert sum(line.startswith("  vocabulary") for line in lines) == 2  # once a model
    assert f"  vocabulary     {V} characters, those of the corpus" in lines
    assert lines.count(f"  characters     {''.join(sorted(set(TEXT)))!r}") == 2
    assert sum("SHA-256" in line for line in lines) == 2 * len(SEEDS) + 2 + 1  # of files, of their text, of that here
    counts = Counter(TEXT)
    [most] = [line for line in lines if line.startswith("  most frequent")]
    assert most.startswith(f"  most frequent  space {counts[' ']}, ")
    [least] = [line for line in lines if line.startswith("  least frequent")]
    assert least.startswith(
        f"  least frequent {min(counts, key=lambda c: (counts[c], -ord(c)))} {min(counts.values())}, "
    )


def test_a_model_and_a_run_can_be_chosen(charlm: Charlm) -> None:
    found = json.loads(charlm("inspect", "--model", "bigram", "--seed-run", "2", "--json").out)["checkpoints"]
    assert [row["file"] for row in found] == [str(paths.checkpoint("bigram", 2))]
    assert charlm("inspect", "--seed-run", "5").status == 1
    wrong = charlm("inspect", "--model", "both")
    assert wrong.status == 2
    assert "there is no 'both'; it wants bigram or attention; see `charlm inspect --help`" in wrong.err


@pytest.mark.parametrize("missing", ["data", "checkpoints"])
def test_what_is_missing_is_said_and_the_rest_is_told(charlm: Charlm, repository: Path, missing: str) -> None:
    shutil.rmtree(repository / missing)
    done = charlm("inspect")
    assert done.status == 0
    assert REMEDY in done.out
    document = json.loads(charlm("inspect", "--json").out)
    assert (document["corpus"] is None, document["checkpoints"] == []) == (missing == "data", missing == "checkpoints")


def test_a_vocabulary_that_is_not_the_corpuss_is_said(charlm: Charlm, repository: Path) -> None:
    files.write_json(repository / paths.VOCABULARY, {"characters": [*sorted(set(TEXT)), "\u00e9"]})
    assert f"  vocabulary     {V} characters, not those of the corpus" in charlm("inspect").out.splitlines()


def test_the_text_a_checkpoint_learned_from_is_told_and_compared_with_the_one_here(
    charlm: Charlm, repository: Path
) -> None:
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    assert [row["corpus_sha256"] for row in json.loads(charlm("inspect", "--json").out)["checkpoints"]] == [sha256] * 4
    assert f"  corpus         SHA-256 {sha256}, the text here" in charlm("inspect").out.splitlines()
    files.write_text(repository / paths.CORPUS, TEXT + "!")
    assert f"  corpus         SHA-256 {sha256}, not the text here" in charlm("inspect").out.splitlines()
    (repository / paths.CORPUS).unlink()
    assert f"  corpus         SHA-256 {sha256}" in charlm("inspect").out.splitlines()


@pytest.mark.parametrize("split", [paths.TRAIN_TOKENS, paths.VAL_TOKENS])
def test_damaged_tokens_are_refused(charlm: Charlm, repository: Path, split: Path) -> None:
    files.write_text(repository / split, "First Citizen:\n" * 9)
    done = charlm("inspect")
    refusal = f"error: {split} is no token file; run `dvc repro tokenize` to make it anew\n"
    assert (done.status, done.out, done.err) == (1, "", refusal)


def test_tokens_of_another_vocabulary_are_refused(charlm: Charlm, repository: Path) -> None:
    files.write_json(repository / paths.VOCABULARY, {"characters": sorted(set(TEXT))[:-1]})
    done = charlm("inspect")
    refusal = f"error: {paths.TRAIN_TOKENS} has ids beyond {paths.VOCABULARY}; run `dvc repro tokenize`\n"
    assert (done.status, done.out, done.err) == (1, "", refusal)


def test_torch_is_not_imported_before_its_variables_are_set(repository: Path) -> None:
    look = "import sys; from charlm.cli.inspect import _corpus; assert _corpus(); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", look],
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"False\n"


def test_where_nothing_is_here_that_is_an_error(charlm: Charlm, repository: Path) -> None:
    shutil.rmtree(repository / "data")
    shutil.rmtree(repository / "checkpoints")
    done = charlm("inspect")
    assert (done.status, done.err) == (1, f"error: neither checkpoints nor data are here; {REMEDY}\n")


def test_a_damaged_checkpoint_is_refused(charlm: Charlm, repository: Path) -> None:
    path = repository / paths.checkpoint("bigram", 1)
    content = path.read_bytes()
    files.write_bytes(path, content[:-1] + bytes([content[-1] ^ 1]))
    assert charlm("inspect").err.startswith(f"error: {paths.checkpoint('bigram', 1)} is damaged")
