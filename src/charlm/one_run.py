"""One run: a fresh model, trained from one seed, to a checkpoint. Called in a worker process."""

import importlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from charlm import checkpoint as checkpoints
from charlm import paths, tokens
from charlm.device import settle
from charlm.training import Budget, Splits, train
from charlm.vocabulary import Vocabulary


def train_one(
    *,
    model: str,
    shape: dict[str, int],
    learning_rate: float,
    seed: int,
    budget: dict[str, int],
    compute: dict[str, str],
    checkpoint: str,
    tell: Callable[[Any], None],
) -> list[dict[str, Any]]:
    """Train the model class `model` ("module:class") from `seed`, save it, and return its loss curve.

    The arguments are plain values because they come from another process; `tell` gets {"steps": n} for each n
    steps done, and {"steps": 0, "point": {...}} at each evaluation.
    """
    device = settle(**compute)
    vocabulary = Vocabulary.load(paths.VOCABULARY)
    splits = Splits(tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS))
    module, _, name = model.partition(":")
    torch.manual_seed(seed)
    network = getattr(importlib.import_module(module), name)(
        vocab_size=len(vocabulary), block_size=budget["block_size"], **shape
    ).to(device)

    curve = []
    for point in train(
        network,
        splits,
        Budget(**budget),
        seed=seed,
        learning_rate=learning_rate,
        device=device,
        beat=lambda steps: tell({"steps": steps}),
    ):
        curve.append(asdict(point))
        tell({"steps": 0, "point": curve[-1]})
    checkpoints.save(Path(checkpoint), network, vocabulary)
    return curve
