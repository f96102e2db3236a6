"""What is large stays within bounds: a long text, and one with thousands of different characters.

Each runs in a process that may have only so much memory of its own (files that it maps do not count).
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm import numerics, paths, tokens
from charlm.adamw import AdamW
from charlm.models.bigram import BigramLanguageModel
from charlm.splits import save_tokens
from charlm.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parent.parent
MB = 10**6

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a process to RLIMIT_DATA")

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
{program}
"""


def run(program: str, folder: Path, limit: int) -> "subprocess.CompletedProcess[str]":
    """Run `program` in `folder` with at most `limit` bytes of its own."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit=limit, program=program)],
        cwd=folder,
        env=os.environ | numerics.environment("native") | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


# --- a text of 200 MB -------------------------------------------------------------------------------------------

TOKENIZE = 200 * MB  # it takes 85, of which 65 before it begins
TOTAL = 200 * MB
CHARACTERS = {
    "ascii": "\n !,.:;?ABCDEFGHIabcdefghijklmnopqrstuvwxyz",
    "mixed": "\n abcdefghij" + "éüßжш→你好世界😀𝄞",  # of one to four bytes
    "thousands": "".join(map(chr, range(0x4E00, 0x4E00 + 5000))),
}


@linux
@pytest.mark.parametrize("kind", CHARACTERS)
def test_a_text_of_200_mb_is_tokenized_in_little_memory(kind: str, tmp_path: Path) -> None:
    characters = CHARACTERS[kind]
    # No power of two, so that pieces end everywhere in it, and within characters too.
    ids = np.random.default_rng(1).integers(0, len(characters), 300_007)
    part = "".join(characters[i] for i in ids)
    content = part.encode()
    times = TOTAL // len(content) + 1
    paths_here = {name: tmp_path / getattr(paths, name) for name in ("CORPUS", "TRAIN_TOKENS", "VAL_TOKENS")}
    paths_here["CORPUS"].parent.mkdir(parents=True)
    with paths_here["CORPUS"].open("wb") as file:
        for _ in range(times):
            file.write(content)
    shutil.copy(ROOT / "params.yaml", tmp_path)

    done = run("import stages.tokenize; stages.tokenize.main()", tmp_path, TOKENIZE)
    assert done.returncode == 0, done.stderr

    vocabulary = Vocabulary.load(tmp_path / paths.VOCABULARY)
    assert list(vocabulary.characters) == sorted(set(characters))
    expected = vocabulary.encode(part)
    train, val = tokens.load(paths_here["TRAIN_TOKENS"]), tokens.load(paths_here["VAL_TOKENS"])
    length = times * len(part)
    assert (len(train), len(val)) == (length * 9 // 10, length - length * 9 // 10)
    for split, offset in ((train, 0), (val, len(train))):  # every single token
        for start in range(0, len(split), len(part)):
            found = split[start : start + len(part)]
            assert np.array_equal(found, np.roll(expected, -(offset % len(part)))[: len(found)]), start
    for path in paths_here.values():  # pytest keeps the folders of its last three runs
        path.unlink()


@linux
def test_that_memory_is_too_little_for_the_text_at_once(tmp_path: Path) -> None:
    """Otherwise the test above would show nothing."""
    (tmp_path / "corpus.txt").write_bytes(b"ab" * (TOTAL // 2))
    done = run("import stages.tokenize, pathlib; pathlib.Path('corpus.txt').read_bytes()", tmp_path, TOKENIZE)
    assert done.stderr.endswith("MemoryError\n")


# --- with torch: thousands of characters, and a long text -------------------------------------------------------

V = 5000
TRAIN = 1295 * MB  # what it says
LIMIT = TRAIN * 11 // 10  # freed memory has holes
COUNT = TRAIN * 2 // 3
ROOM = 40 * MB  # what the long text may take beyond what is there before it, of which it takes 12
PART = 300_007  # characters, of which the long text repeats so many
REPEATED = 200

# One process for both, since torch takes two seconds to import. It splits before any work, since memory that was freed
# would hide what is taken.
WORK = """
import itertools, json, os, sys, torch
from pathlib import Path
from charlm import one_run
how = {"model": "charlm.models.bigram:BigramLanguageModel", "shape": {}, "learning_rate": 0.01, "seed": 1,
       "corpus_sha256": "", "compute": {"device": "cpu", "numerics": "native"}, "state": "a.state",
       "budget": {"batch_size": 32, "block_size": 32, "steps": 6, "eval_interval": 3}}
if long := os.fork():
    if os.waitpid(long, 0)[1]: sys.exit(1)
    print("---")
    os.chdir("thousands")
    one_run.train_one(**how, checkpoint="a", tell=lambda event: print(json.dumps(event)))
    sys.exit()

from charlm import evaluation, one_evaluation
from charlm.cli import score
os.chdir("long")
whole, some = evaluation.score, lambda batches: itertools.islice(batches, 200)  # all of them take seconds
evaluation.score = one_evaluation.score = lambda model, batches, device: whole(model, some(batches), device)
used = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM, used + ROOM))
checkpoint = "checkpoints/bigram/seed-1.safetensors"
one_run.train_one(**how, checkpoint=checkpoint, tell=str)
one_evaluation.score_checkpoint(checkpoint=checkpoint, block_length=1000, compute=how["compute"], tell=str)
score.score(Path("text"), model="bigram", seed_run=1, context="windows", encoding=None, as_json=True)
"""

COUNTING = """
from charlm.one_evaluation import score_tables
score_tables(block_size=32, compute={"device": "cpu", "numerics": "native"}, tell=lambda line: None)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tokens of V different characters, and of a long text."""
    folder = tmp_path_factory.mktemp("scale")
    thousands, long = folder / "thousands", folder / "long"
    Vocabulary([chr(0x4E00 + i) for i in range(V)]).save(thousands / paths.VOCABULARY)
    ids = np.random.default_rng(1).integers(0, V, 6000).astype(np.uint16)
    save_tokens(thousands / paths.TRAIN_TOKENS, ids[:5000])
    save_tokens(thousands / paths.VAL_TOKENS, ids[5000:])

    part = "".join(CHARACTERS["ascii"][i] for i in np.random.default_rng(1).integers(0, 43, PART))
    vocabulary = Vocabulary.of(part)
    vocabulary.save(long / paths.VOCABULARY)
    save_tokens(long / paths.TRAIN_TOKENS, np.tile(vocabulary.encode(part), TOTAL // PART))
    save_tokens(long / paths.VAL_TOKENS, vocabulary.encode(part[:5000]))
    (long / "text").write_text(part * REPEATED + "\u00e9", encoding="utf-8")
    params = (ROOT / paths.PARAMS).read_text(encoding="utf-8")
    (long / paths.PARAMS).write_text(params.replace("numerics: portable", "numerics: native"), encoding="utf-8")
    yield folder
    shutil.rmtree(folder)  # pytest keeps the folders of its last three runs


@pytest.fixture(scope="module")
def said(folder: Path) -> list[str]:
    """What the work on the long text says, and the training on V different characters."""
    done = run(f"ROOM = {ROOM}\n{WORK}", folder, LIMIT)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("---\n")


@linux
def test_a_bigram_table_of_5000_characters_trains_in_the_memory_that_it_says(said: list[str]) -> None:
    events = [json.loads(line) for line in said[1].splitlines()]
    (note,) = [event["note"] for event in events if "note" in event]
    assert note.startswith(f"to train the model's 25,000,000 parameters takes at least {TRAIN // MB:,} MB")
    points = [event["point"] for event in events if "point" in event]
    assert [point["step"] for point in points] == [0, 3, 6]
    assert points[-1]["train_loss"] < points[0]["train_loss"]


@linux
def test_a_long_text_is_trained_on_and_scored_in_little_memory(said: list[str]) -> None:
    found = json.loads(said[0])
    assert (found["characters"], found["unknown"]) == (PART * REPEATED + 1, {"\u00e9": 1})
    assert 3 < found["models"]["bigram"]["loss"] < 6


@linux
def test_to_count_its_pairs_takes_less(folder: Path) -> None:
    """So what could be trained can be evaluated."""
    done = run(COUNTING, folder / "thousands", COUNT)
    assert done.returncode == 0, done.stderr


def test_a_step_touches_no_row_that_the_batch_has_not_met() -> None:
    """Neither moved nor decayed, and the gradient has no place for it."""
    torch.manual_seed(1)
    model = BigramLanguageModel(vocab_size=V, block_size=32)
    before = model.token_embedding_table.weight.detach().clone()
    optimizer = AdamW(model.parameters())
    idx, targets = torch.randint(V, (2, 4, 32))
    loss = model.loss(idx, targets)
    (gradient,) = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    assert gradient.is_sparse
    assert gradient.coalesce().indices()[0].tolist() == sorted(set(idx.flatten().tolist()))
    optimizer.step(loss, 0.01)
    moved = (model.token_embedding_table.weight != before).any(dim=1)
    assert sorted(set(idx.flatten().tolist())) == torch.nonzero(moved).flatten().tolist()
