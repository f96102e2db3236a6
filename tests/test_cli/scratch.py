"""A small repository for the commands: two models, two seeds each, and the tokens they go with."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from charlm import checkpoint, files, paths
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.splits import save_tokens
from charlm.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\nthe end\n" * 4
BLOCK_SIZE = 8
SEEDS = (1, 2)
MODELS = ("bigram", "attention")
CHARLM = [sys.executable, "-m", "charlm"]
PATH = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "HOME": "/nonexistent"}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


def small_models(vocabulary: Vocabulary, seed: int) -> list[LanguageModel]:
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(vocabulary), "block_size": BLOCK_SIZE}
    bigram, attention = BigramLanguageModel(**sizes), AttentionLanguageModel(**sizes, n_embd=6, head_size=5)
    with torch.no_grad():
        attention.lm_head.weight *= 5  # further from uniform, so that a wrong context shows
    return [bigram.eval(), attention.eval()]


def write_repository(root: Path, text: str) -> Path:
    """Write params.yaml, tokens and checkpoints under `root` as the pipeline does, with untrained models."""
    vocabulary, cut = Vocabulary.of(text), len(text) * 9 // 10
    vocabulary.save(root / paths.VOCABULARY)
    corpus = root / paths.CORPUS
    files.write_bytes(corpus, text.encode())
    save_tokens(root / paths.TRAIN_TOKENS, vocabulary.encode(text[:cut]))
    save_tokens(root / paths.VAL_TOKENS, vocabulary.encode(text[cut:]))
    for seed in SEEDS:
        for name, model in zip(MODELS, small_models(vocabulary, seed), strict=True):
            how = {"seed": seed, "steps": 0}
            checkpoint.save(root / paths.checkpoint(name, seed), model, vocabulary, how, files.sha256(corpus))
    params = (ROOT / paths.PARAMS).read_text(encoding="utf-8")
    params = re.sub(r"seeds: \[.*?\]", f"seeds: {list(SEEDS)}", params)
    params = re.sub(r"models: \[.*?\]", f"models: [{', '.join(MODELS)}]", params)  # whatever the pipeline has besides
    params = params.replace("numerics: portable", "numerics: native")  # torch is imported here, without the pins
    (root / paths.PARAMS).write_text(params, encoding="utf-8")
    return root


def as_process(
    where: Path, *arguments: str | bytes, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a process, in the folder `where`."""
    return subprocess.run(
        [*CHARLM, *arguments],
        cwd=where,
        env=PATH | (environment or {}),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
    )
