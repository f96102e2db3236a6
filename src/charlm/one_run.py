"""One run: a fresh model, trained from one seed, to a checkpoint. Called in a worker process."""

import importlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from charlm import checkpoint as checkpoints
from charlm import memory, paths, resume, tokens
from charlm.adamw import AdamW
from charlm.device import settle
from charlm.errors import CharlmError
from charlm.source_code import refusal
from charlm.training import Budget, Splits, train
from charlm.vocabulary import Vocabulary


def train_one(
    *,
    model: str,
    shape: dict[str, int],
    learning_rate: float,
    seed: int,
    corpus_sha256: str,
    budget: dict[str, Any],
    compute: dict[str, str],
    checkpoint: str,
    state: str,
    turn: int | None = None,
    processes: int = 1,
    tell: Callable[[Any], None],
) -> list[dict[str, Any]] | None:
    """Train the model class `model` ("module:class") from `seed`, save it, and return its loss curve.

    It carries on from `state`, if that is of the same run, and keeps it there after each evaluation. Given `turn`, it
    returns None at the first evaluation after so many steps, unless that is the last. `processes` train side by side.

    The arguments are plain values because they come from another process. `tell` gets {"after": n} where it carries on
    after n steps, {"steps": n} for n more of them, {"point": {...}} at each evaluation, and {"note": "..."} for what a
    person should know.
    """
    device = settle(**compute)
    vocabulary = Vocabulary.load(paths.VOCABULARY)
    splits = Splits(tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS))
    module, _, name = model.partition(":")
    build = partial(
        getattr(importlib.import_module(module), name),
        vocab_size=len(vocabulary),
        block_size=budget["block_size"],
        **shape,
    )
    places = budget["batch_size"] * budget["block_size"]
    memory.check(build, places, processes, say=lambda line: tell({"note": line}))
    torch.manual_seed(seed)
    network = build().to(device)
    optimizer = AdamW(network.parameters())

    settings = {"model": model, "shape": shape, "learning_rate": learning_rate, "seed": seed} | budget | compute
    settings |= {"device": str(device), "characters": vocabulary.characters}
    data = (paths.TRAIN_TOKENS, paths.VAL_TOKENS, paths.VOCABULARY)
    run = resume.fingerprint(settings, data)
    curve = resume.load(Path(state), run, network, optimizer, say=lambda line: tell({"note": line}))
    after = curve[-1].step if curve else None
    if after is not None:
        tell({"after": after})
    for point in train(
        network,
        optimizer,
        splits,
        Budget(**budget),
        learning_rate=learning_rate,
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
        if turn and turn <= point.step - (after or 0) and point.step < budget["steps"]:
            return None
    if resume.fingerprint(settings, data) != run:
        raise CharlmError(refusal(f"what lies in {paths.TRAIN_TOKENS.parent}"))
    how = {"seed": seed, "learning_rate": learning_rate, "batch_size": budget["batch_size"], "steps": budget["steps"]}
    checkpoints.save(Path(checkpoint), network, vocabulary, how, corpus_sha256)
    return [asdict(point) for point in curve]
