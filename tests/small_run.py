"""Runs so small that one takes milliseconds, in this process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from charlm import one_run, paths
from charlm.tokens import Tokens
from charlm.vocabulary import Vocabulary

V, T = 5, 6
BUDGET = {"batch_size": 4, "block_size": T, "steps": 6, "eval_interval": 2}
MODELS: dict[str, dict[str, int]] = {
    "charlm.models.bigram:BigramLanguageModel": {},
    "charlm.models.attention:AttentionLanguageModel": {"n_embd": 4, "head_size": 3},
}


def go_where_tokens_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `folder` the current one, with tokens to train on."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(one_run, "settle", lambda **compute: torch.device("cpu"))  # changes no global of this process
    Vocabulary.of("abcde").save(paths.VOCABULARY)
    text: Tokens = np.random.default_rng(1).integers(0, V, 400).astype(np.uint8)
    np.save(paths.TRAIN_TOKENS, text[:300])
    np.save(paths.VAL_TOKENS, text[300:])


def run(
    name: str,
    *,
    model: str = "charlm.models.attention:AttentionLanguageModel",
    seed: int = 1,
    die_at: int | None = None,
    turn: int | None = None,
    **changed: Any,
) -> tuple[list[int], list[str]]:
    """Train into the checkpoint `name`; return the steps measured, and what was said.

    Args:
        name: what checkpoint and state are called.
        model: its class.
        seed: the run's.
        die_at: stop once the point of this step is told, that is, its state is kept.
        turn: how long one turn is; as many are taken as it needs.
        changed: other values for the budget or the learning rate.
    """
    steps: list[int] = []
    said: list[str] = []

    def tell(event: dict[str, Any]) -> None:
        if "note" in event:
            said.append(event["note"])
        if "after" in event:
            said.append(f"after {event['after']}")
        if "point" in event:
            steps.append(event["point"]["step"])
            if steps[-1] == die_at:
                raise KeyboardInterrupt

    rate = changed.pop("learning_rate", 0.01)
    curve = None
    try:
        while curve is None:
            curve = one_run.train_one(
                model=model,
                shape=MODELS[model],
                learning_rate=rate,
                seed=seed,
                corpus_sha256="",
                budget=BUDGET | changed,
                compute={"device": "cpu", "numerics": "native"},
                checkpoint=name,
                state=f"{name}.state",
                turn=turn,
                tell=tell,
            )
            assert curve or turn, "without turns it goes to the end"
    except KeyboardInterrupt:
        assert die_at is not None
    return steps, said
