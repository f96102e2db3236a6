"""A small experiment whose every byte can be compared: both models trained, scored, and made to write."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from charlm import numerics as pins
from charlm import paths
from charlm.files import sha256
from charlm.runs import Recipe
from charlm.splits import save_splits, train_length
from charlm.vocabulary import Vocabulary
from charlm.workers import Task, run_tasks

BIGRAM = Recipe("bigram", "charlm.models.bigram:BigramLanguageModel", 0.01, {})
_SHAPE = {"n_embd": 32, "head_size": 32}
ATTENTION = Recipe("attention", "charlm.models.attention:AttentionLanguageModel", 0.001, _SHAPE)

SEED = 1
_BLOCK_SIZE = 32
_LENGTH = 100  # characters of generated text
_BLOCK_LENGTH = 1000  # of the breakdown of losses
_CONTEXTS = [1, 3]  # of the Kneser-Ney models


def run(text: str, folder: Path, *, steps: int) -> dict[str, Any]:
    """Train, score and sample in one worker process, and return what came out, as JSON can hold it.

    Args:
        text: the corpus.
        folder: an empty one, for the files.
        steps: how long each model is trained.

    Returns:
        For each model the SHA-256 of its checkpoint, its loss curve, its score and its text, and the losses of the
        closed-form models; all losses with every digit. What is long is there by its SHA-256.
    """
    compute = {"device": "cpu", "numerics": "portable"}
    recipes = (BIGRAM, ATTENTION)
    with chdir(folder):
        _tokenize(text)
        names = [recipe.name for recipe in recipes]
        window = {"block_size": _BLOCK_SIZE, "compute": compute}
        first = {name: str(paths.checkpoint(name, SEED)) for name in names}
        tasks = [task for recipe in recipes for task in _tasks(recipe, steps, compute)]
        tasks += [
            Task("charlm.one_evaluation:score_tables", window),
            Task("charlm.one_evaluation:score_kneser_ney", window | {"contexts": _CONTEXTS}),
            Task(
                "charlm.one_evaluation:show_context",
                {"checkpoints_by_model": first, "given_pairs": [["cat", "hat"]], "found_pairs": 1, "compute": compute},
            ),
        ]
        *rest, tables, kneser_ney, context = _in_one_process(tasks, compute)
        return {
            "checkpoints": {name: sha256(paths.checkpoint(name, SEED)) for name in names},
            "curves": dict(zip(names, rest[0::3], strict=True)),
            "scores": {
                name: score | {"breakdown": _hash(score["breakdown"])}
                for name, score in zip(names, rest[1::3], strict=True)
            },
            "counts": tables | kneser_ney,
            "texts": dict(zip(names, rest[2::3], strict=True)),
            "context": _hash(context),
        }


def train(text: str, folder: Path, recipe: Recipe, *, numerics: str, steps: int) -> str:
    """Do no more than to train one model, and return the SHA-256 of its checkpoint."""
    compute = {"device": "cpu", "numerics": numerics}
    with chdir(folder):
        _tokenize(text)
        _in_one_process([_training(recipe, steps, compute)], compute)
        return sha256(paths.checkpoint(recipe.name, SEED))


def _tokenize(text: str) -> None:
    vocabulary = Vocabulary.of(text)
    vocabulary.save(paths.VOCABULARY)
    length = train_length(len(text), 0.1, _BLOCK_SIZE)
    save_splits(paths.TRAIN_TOKENS, paths.VAL_TOKENS, [text], vocabulary, train=length, length=len(text))


def _in_one_process(tasks: Sequence[Task], compute: dict[str, str]) -> list[Any]:
    environment = pins.environment(compute["numerics"])
    return run_tasks(tasks, jobs=1, environment=environment, on_event=lambda index, event: None)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _training(recipe: Recipe, steps: int, compute: dict[str, str]) -> Task:
    settings = {
        "model": recipe.model,
        "shape": recipe.shape,
        "learning_rate": recipe.learning_rate,
        "seed": SEED,
        "corpus_sha256": "",
        "budget": {"batch_size": 32, "block_size": _BLOCK_SIZE, "steps": steps, "eval_interval": steps},
        "checkpoint": str(paths.checkpoint(recipe.name, SEED)),
        "state": str(paths.state(recipe.name, SEED)),
        "compute": compute,
    }
    return Task("charlm.one_run:train_one", settings)


def _tasks(recipe: Recipe, steps: int, compute: dict[str, str]) -> list[Task]:
    common = {"checkpoint": str(paths.checkpoint(recipe.name, SEED)), "compute": compute}
    sampling = {"prompt": "", "length": _LENGTH, "temperatures": [1.0], "seed": SEED}
    return [
        _training(recipe, steps, compute),
        Task("charlm.one_evaluation:score_checkpoint", common | {"block_length": _BLOCK_LENGTH}),
        Task("charlm.one_evaluation:sample_checkpoint", common | sampling),
    ]
