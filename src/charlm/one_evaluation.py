"""What `evaluate` asks of single models. Called in a worker process; plain values in and out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from charlm import checkpoint as checkpoints
from charlm import context, paths, tokens
from charlm.device import settle
from charlm.errors import CharlmError
from charlm.evaluation import break_down, check_causality, score
from charlm.models import counts
from charlm.models.contract import LanguageModel
from charlm.models.kneser_ney import kneser_ney
from charlm.restoring import restore
from charlm.sampling import generate, starting_text
from charlm.tokens import Tokens, consecutive_windows, overlapping_windows
from charlm.vocabulary import Vocabulary

Tell = Callable[[Any], None]
CPU = torch.device("cpu")
# Characters of train text for Kneser-Ney: tiny Shakespeare takes 320 bytes for each, random characters 800.
_COUNTED_AT_MOST = 5_000_000


def score_checkpoint(*, checkpoint: str, block_length: int, compute: dict[str, str], tell: Tell) -> dict[str, Any]:
    """Check that a trained model is causal, and score it on the whole of both splits, under both window rules.

    Returns:
        parameters, train_loss, val_loss, val_loss_full, val_accuracy, train_tokens, val_tokens, and `breakdown`, the
        sums of validation losses by stretches of block_length, place in the window, and target.
    """
    device = settle(**compute)
    model, vocabulary = restore(Path(checkpoint))
    if vocabulary != Vocabulary.load(paths.VOCABULARY):
        raise CharlmError(f"{checkpoint} was trained on another vocabulary than {paths.VOCABULARY}; run `dvc repro`")
    train, val = tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS)
    check_causality(model, val)
    model.to(device)
    train_score = score(model, consecutive_windows(train, model.block_size), device)
    val_score = score(model, consecutive_windows(val, model.block_size), device)
    full_score = score(model, overlapping_windows(val, model.block_size, model.context), device)
    tell(f"{checkpoint}: validation loss {val_score.loss:.4f} nats per character")
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_loss": train_score.loss,
        "val_loss": val_score.loss,
        "val_loss_full": full_score.loss,
        "val_accuracy": val_score.accuracy,
        "train_tokens": train_score.tokens,
        "val_tokens": val_score.tokens,
        "breakdown": asdict(break_down(model, val, block_length, device)),
    }


def score_tables(*, block_size: int, compute: dict[str, str], tell: Tell) -> dict[str, dict[str, float]]:
    """Score the closed-form tables: uniform, unigram, and pairs counted with and without one added.

    `bigram_ml`, the maximum-likelihood table, has no finite validation loss when pairs are new there, so only its
    training loss is given: the floor under every bigram table.
    """
    settle(**compute)
    train, val = tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS)
    V = len(Vocabulary.load(paths.VOCABULARY))
    floor = _loss(counts.bigram(train, V, block_size=block_size, added=0), train)  # one large table at a time
    models = {
        "uniform": counts.uniform(V, block_size=block_size),
        "unigram": counts.unigram(train, V, block_size=block_size),
        "bigram": counts.bigram(train, V, block_size=block_size, added=1),
    }
    rows = {name: {"train_loss": _loss(model, train)} | _val_losses(model, val) for name, model in models.items()}
    rows["bigram_ml"] = {"train_loss": floor}
    tell(f"closed form: bigram counts with one added, validation loss {rows['bigram']['val_loss']:.4f}")
    return rows


def score_kneser_ney(
    *, contexts: Sequence[int], block_size: int, compute: dict[str, str], tell: Tell
) -> dict[str, dict[str, float]]:
    """Score the Kneser-Ney models for contexts of so many characters, as far as a window has room for them.

    No models ({}) for a large text: memory grows with it, unlike that of all else.
    """
    settle(**compute)
    train, val = tokens.load(paths.TRAIN_TOKENS), tokens.load(paths.VAL_TOKENS)
    if len(train) > _COUNTED_AT_MOST:
        tell(
            f"closed form: no Kneser-Ney, whose counts of {len(train):,} characters would take too much memory; "
            f"the limit is {_COUNTED_AT_MOST:,}"
        )
        return {}
    V = len(Vocabulary.load(paths.VOCABULARY))
    fitting = [n for n in contexts if n <= block_size]
    models = kneser_ney(torch.from_numpy(train.astype("int64")), V, contexts=fitting, block_size=block_size)
    rows = {f"kneser_ney_{model.context}": _val_losses(model, val) for model in models}
    best = min(row["val_loss_full"] for row in rows.values())
    tell(f"closed form: Kneser-Ney, contexts up to {fitting[-1]}, best validation loss {best:.4f}")
    return rows


def sample_checkpoint(
    *,
    checkpoint: str,
    compute: dict[str, str],
    prompt: str,
    length: int,
    temperatures: Sequence[float],
    seed: int,
    tell: Tell,
) -> dict[str, Any]:
    """Return the prompt as it was used and, for each temperature, the text that the model continues it with."""
    settle(**compute)
    model, vocabulary = restore(Path(checkpoint))
    start = starting_text(prompt, vocabulary, tokens.load(paths.TRAIN_TOKENS))
    ids = torch.from_numpy(vocabulary.encode(start).astype("int64"))
    texts = [
        vocabulary.decode(generate(model, ids, length=length, temperature=temperature, seed=seed))
        for temperature in temperatures
    ]
    return {"prompt": start, "texts": texts}


def show_context(
    *,
    checkpoints_by_model: Mapping[str, str],
    given_pairs: Sequence[Sequence[str]],
    found_pairs: int,
    compute: dict[str, str],
    tell: Tell,
) -> dict[str, Any]:
    """Return what the models make of context, and how they were made: "pairs", "attention" and "made"."""
    settle(**compute)
    models = {name: restore(Path(path))[0] for name, path in checkpoints_by_model.items()}
    vocabulary, val = Vocabulary.load(paths.VOCABULARY), tokens.load(paths.VAL_TOKENS)
    known = set(vocabulary.characters)
    given = [(left, right) for left, right in given_pairs if known.issuperset(left + right)]
    *_, last = models.values()
    pairs = [
        context.compare_pair(models, left, right, vocabulary) | {"found": found}
        for found, some in ((False, given), (True, context.find_pairs(last, val, vocabulary, found_pairs)))
        for left, right in some
    ]
    tell(f"pairs of texts that end alike: {len(pairs)} compared")
    attention = {name: context.attention_on(model, val, vocabulary) for name, model in models.items()}
    headers = {name: checkpoints.load(Path(path))[0] for name, path in checkpoints_by_model.items()}
    return {
        "pairs": pairs,
        "attention": {name: weights for name, weights in attention.items() if weights},
        "made": {
            "torch": torch.__version__.partition("+")[0],
            "corpus_characters": len(tokens.load(paths.TRAIN_TOKENS)) + len(val),
            "vocabulary_size": len(vocabulary),
            "models": {name: header.shape | header.training for name, header in headers.items()},
        },
    }


def _loss(model: LanguageModel, split: Tokens) -> float:
    return score(model, consecutive_windows(split, model.block_size), CPU).loss


def _val_losses(model: LanguageModel, val: Tokens) -> dict[str, float]:
    full = score(model, overlapping_windows(val, model.block_size, model.context), CPU)
    return {"val_loss": _loss(model, val), "val_loss_full": full.loss}
