"""`charlm score`: what a text costs under each checkpoint."""

import math
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from charlm.cli import workplace
from charlm.cli.screen import Screen, print_json, shown
from charlm.cli.unknown import leave_out, named
from charlm.errors import CharlmError
from charlm.text import decoded, normalised

if TYPE_CHECKING:
    import torch

    from charlm.models.contract import LanguageModel
    from charlm.tokens import Tokens
    from charlm.vocabulary import Vocabulary

STDIN = Path("-")

_RULES = {
    "windows": "cut into windows of {block_size} characters, as the report does; --context full for all context",
    "full": "every character after as many as the model can see",
}


@dataclass(frozen=True)
class _Reading:
    """A text as the models see it.

    Attributes:
        tokens: what they know of it, (N,).
        characters: how many it has.
        unknown: those that the vocabulary lacks, which are left out, and how often each was there.
        changes: what was changed before, as in the text that the models learned from; empty for nothing.
    """

    tokens: "Tokens"
    characters: int
    unknown: Counter[str]
    changes: str


def score(
    file: Path, *, model: str | None, seed_run: int | None, context: str, encoding: str | None, as_json: bool
) -> None:
    """Write the loss of the file's text under the checkpoints that are chosen."""
    name = "standard input" if file == STDIN else shown(file)
    given = file if file == STDIN else file.absolute()  # before the command goes to the repository's root
    settings = workplace.settings()
    seeds = settings.seeds if seed_run is None else (seed_run,)
    models = settings.chosen(model)
    paths = {(name, seed): workplace.checkpoint(name, seed) for name in models for seed in seeds}
    device = workplace.start_torch(settings.compute)

    from charlm.restoring import restore

    restored = {run: restore(path) for run, path in paths.items()}
    (first, vocabulary), *others = restored.values()
    if any(other != vocabulary for _, other in others):
        raise CharlmError("the checkpoints have different vocabularies; run `make repro` to train them on one text")
    with tempfile.TemporaryFile(prefix="charlm-") as store:
        reading = _read(
            given, name, encoding or settings.tokenize.encoding, settings.tokenize.normalise, vocabulary, store
        )
        losses = {run: _loss(found.to(device), reading.tokens, context, device) for run, (found, _) in restored.items()}
    document = _document(name, reading, losses, context, first.block_size)
    if as_json:
        print_json(document)
    else:
        _print(document)


def _read(
    file: Path, name: str, encoding: str, normalise: bool, vocabulary: "Vocabulary", store: BinaryIO | IO[bytes]
) -> _Reading:
    """Read the file in pieces, and keep its tokens in `store`: memory does not grow with the text.

    Raises:
        CharlmError: with the offset of the first byte that is none of this encoding.
    """
    if file == STDIN and sys.stdin is None:
        raise CharlmError("standard input is closed; name a file, or pipe a text into it")
    known = frozenset(vocabulary.characters)
    characters, unknown = 0, Counter[str]()
    changes: list[str] = []
    with nullcontext(sys.stdin.buffer) if file == STDIN else file.open("rb") as source:
        texts = decoded(source, name, encoding, remedy="say what it is, for instance --encoding latin-1 or utf-16")
        if normalise:
            texts = normalised(texts, changes.append)
        for text in texts:
            characters += len(text)
            kept, left_out = leave_out(text, known)
            unknown += left_out
            store.write(vocabulary.encode(kept).tobytes())
    store.flush()
    length = store.tell() // vocabulary.dtype.itemsize
    if length < 2:
        what = f" (of {characters:,}) that the models know" if unknown else ""
        raise CharlmError(f"{name} has too few characters{what}: {length}; a loss wants 2, the first to begin after")
    import numpy as np

    tokens = np.memmap(store, dtype=vocabulary.dtype, mode="r", shape=(length,))
    return _Reading(np.asarray(tokens), characters, unknown, "".join(changes))


def _loss(model: "LanguageModel", tokens: "Tokens", context: str, device: "torch.device") -> float:
    """Return the mean loss in nats of all tokens but the first."""
    from charlm.evaluation import score as score_batches
    from charlm.tokens import consecutive_windows, overlapping_windows

    if context == "windows":
        batches = consecutive_windows(tokens, model.block_size)
    else:
        batches = overlapping_windows(tokens, model.block_size, model.context)
    return score_batches(model, batches, device).loss


def _document(
    name: str, reading: _Reading, losses: dict[tuple[str, int], float], context: str, block_size: int
) -> dict[str, Any]:
    from charlm.comparison import MAX_LOSS, bits

    for (model, seed), loss in losses.items():
        if not loss < MAX_LOSS:
            raise CharlmError(f"the loss under {model}, seed {seed}, is {loss}: no perplexity can tell it; train anew")
    rows = [
        {"model": model, "seed_run": seed, "loss": loss, "bits": bits(loss), "perplexity": math.exp(loss)}
        for (model, seed), loss in losses.items()
    ]
    models = dict.fromkeys(model for model, _ in losses)
    return {
        "file": name,
        "characters": reading.characters,
        "predicted": len(reading.tokens) - 1,
        "unknown": dict(reading.unknown.most_common()),
        "changes": reading.changes,
        "context": context,
        "block_size": block_size,
        "checkpoints": rows,
        "models": {model: _over_seeds([row for row in rows if row["model"] == model]) for model in models},
    }


def _over_seeds(rows: list[dict[str, Any]]) -> dict[str, Any]:
    from charlm.comparison import mean_and_sd

    summary: dict[str, Any] = {"seeds": len(rows)}
    for key in ("loss", "bits", "perplexity"):
        summary |= mean_and_sd(key, [row[key] for row in rows])
    return summary


def _print(document: dict[str, Any]) -> None:
    screen = Screen()
    unknown: dict[str, int] = document["unknown"]
    screen.line(
        f"{document['file']}: {document['characters']:,} characters, {document['predicted']:,} predicted "
        "(the first has nothing before it)"
    )
    if document["changes"]:
        screen.line(f"first changed, as in the text that the models learned from: {document['changes']}")
    if unknown:
        total = sum(unknown.values())
        screen.line(f"left out, since the models do not know them: {total:,} characters, {named(unknown)}")
    screen.line(f"context: {_RULES[document['context']].format(**document)}")
    screen.line()
    screen.line(f"{'model':<12} {'seed':>10} {'nats/char':>18} {'bits/char':>18} {'perplexity':>18}", bold=True)
    for row in document["checkpoints"]:
        numbers = f"{row['loss']:>18.4f} {row['bits']:>18.4f} {row['perplexity']:>18.2f}"
        screen.line(f"{row['model']:<12} {row['seed_run']:>10} {numbers}")
    for model, summary in document["models"].items():
        if summary["seeds"] > 1:
            loss, bit, perplexity = (
                f"{summary[key]:.{digits}f} ± {summary[f'{key}_sd']:.{digits}f}"
                for key, digits in (("loss", 4), ("bits", 4), ("perplexity", 2))
            )
            screen.line(f"{model:<12} {'mean ± sd':>10} {loss:>18} {bit:>18} {perplexity:>18}", bold=True)
