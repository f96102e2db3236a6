"""One run: a fresh model, trained from one seed, to a checkpoint. Called in a worker process."""

import importlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from charlm import checkpoint as checkpoints
from charlm import paths, resume, tokens
from charlm.device import settle
from charlm.errors import CharlmError
from charlm.training import Budget, Splits, adamw, train
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
    state: str,
    tell: Callable[[Any], None],
) -> list[dict[str, Any]]:
    """Train the model class `model` ("module:class") from `seed`, save it, and return its loss curve.

    It carries on from `state`, if that is of the same run, and keeps it there after each evaluation.

    The arguments are plain values because they come from another process. `tell` gets {"steps": n} for n steps
    done, {"point": {...}} at each evaluation, and {"note": "..."} for what a person should know.
    """
    device = settle(**compute)
    vocabulary = Vocabulary.load(paths.VOCABULARY)
    splits = Splits(tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS))
    module, _, name = model.partition(":")
    torch.manual_seed(seed)
    network = getattr(importlib.import_module(module), name)(
        vocab_size=len(vocabulary), block_size=budget["block_size"], **shape
    ).to(device)
    optimizer = adamw(network, learning_rate)

    settings = {"model": model, "shape": shape, "learning_rate": learning_rate, "seed": seed} | budget | compute
    settings |= {"device": str(device), "characters": vocabulary.characters}
    run = resume.fingerprint(settings, data=(splits.train, splits.val))
    curve = resume.load(Path(state), run, network, optimizer, say=lambda line: tell({"note": line}))
    after = curve[-1].step if curve else None
    if after is not None:
        tell({"steps": after, "note": f"seed {seed} carries on from step {after}"})
    for point in train(
        network,
        optimizer,
        splits,
        Budget(**budget),
        seed=seed,
        device=device,
        after=after,
        beat=lambda steps: tell({"steps": steps}),
    ):
        if not all(torch.isfinite(weight).all() for weight in network.parameters()):
            raise CharlmError(
                f"seed {seed} has weights that are not finite at step {point.step}, whose loss is still "
                f"{point.val_loss:.4f}; the learning rate {learning_rate:g} is probably too high, try a tenth of it"
            )
        curve.append(point)
        resume.save(Path(state), run, network, optimizer, curve)
        tell({"point": asdict(point)})
    how = {"seed": seed, "learning_rate": learning_rate, "batch_size": budget["batch_size"], "steps": budget["steps"]}
    checkpoints.save(Path(checkpoint), network, vocabulary, how)
    return [asdict(point) for point in curve]
