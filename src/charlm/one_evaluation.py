"""What `evaluate` asks of one model. Called in a worker process; plain values in and out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from charlm import paths, tokens
from charlm.device import settle
from charlm.errors import CharlmError
from charlm.evaluation import check_causality, score
from charlm.models import counts
from charlm.models.contract import LanguageModel
from charlm.models.registry import restore
from charlm.sampling import generate, starting_text
from charlm.tokens import Tokens, consecutive_windows
from charlm.vocabulary import Vocabulary

Tell = Callable[[Any], None]


def score_checkpoint(*, checkpoint: str, compute: dict[str, str], tell: Tell) -> dict[str, Any]:
    """Check that a trained model is causal, and score it on the whole of both splits."""
    device = settle(**compute)
    model, vocabulary = restore(Path(checkpoint))
    if vocabulary != Vocabulary.load(paths.VOCABULARY):
        raise CharlmError(f"{checkpoint} was trained on another vocabulary than {paths.VOCABULARY}; run `dvc repro`")
    val = tokens.load(paths.VAL_TOKENS)
    check_causality(model, val)
    model.to(device)
    train_score = score(model, consecutive_windows(tokens.load(paths.TRAIN_TOKENS), model.block_size), device)
    val_score = score(model, consecutive_windows(val, model.block_size), device)
    tell(f"{checkpoint}: validation loss {val_score.loss:.4f} nats per character")
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_loss": train_score.loss,
        "val_loss": val_score.loss,
        "val_accuracy": val_score.accuracy,
        "train_tokens": train_score.tokens,
        "val_tokens": val_score.tokens,
    }


def score_counts(*, block_size: int, compute: dict[str, str], tell: Tell) -> dict[str, dict[str, float]]:
    """Score the closed-form models: uniform, unigram, and pairs counted with and without one added.

    `bigram_ml`, the maximum-likelihood table, has no finite validation loss when pairs are new there, so only its
    training loss is given: the floor under every bigram table.
    """
    settle(**compute)
    train, val = tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS)
    V = len(Vocabulary.load(paths.VOCABULARY))
    ids = torch.from_numpy(train.astype("int64"))

    def loss(model: LanguageModel, split: Tokens) -> float:
        return score(model, consecutive_windows(split, block_size), torch.device("cpu")).loss

    models = {
        "uniform": counts.uniform(V, block_size=block_size),
        "unigram": counts.unigram(ids, V, block_size=block_size),
        "bigram": counts.bigram(ids, V, block_size=block_size, added=1),
    }
    rows = {name: {"train_loss": loss(model, train), "val_loss": loss(model, val)} for name, model in models.items()}
    rows["bigram_ml"] = {"train_loss": loss(counts.bigram(ids, V, block_size=block_size, added=0), train)}
    tell(f"closed form: add-one bigram counts, validation loss {rows['bigram']['val_loss']:.4f} nats per character")
    return rows


def sample_checkpoint(
    *,
    checkpoint: str,
    compute: dict[str, str],
    prompt: str,
    length: int,
    temperature: float,
    seed: int,
    tell: Tell,
) -> dict[str, str]:
    """Return the prompt as it was used and the text that the model continues it with."""
    settle(**compute)
    model, vocabulary = restore(Path(checkpoint))
    start = starting_text(prompt, vocabulary)
    ids = torch.from_numpy(vocabulary.encode(start).astype("int64"))
    text = vocabulary.decode(generate(model, ids, length=length, temperature=temperature, seed=seed))
    return {"prompt": start, "text": text}
