"""Do the program and the plain loop compute the same? Without that, no comparison of speed means anything."""

from collections.abc import Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import reference, work
from benchmarks.program import new_model, train
from charlm import checkpoint, paths
from charlm.splits import save_tokens
from charlm.tokens import Tokens, batch, consecutive_windows
from charlm.vocabulary import Vocabulary

_WINDOWS = 128  # of the validation text, on which both are scored after each step


@dataclass(frozen=True)
class Difference:
    """How far two trainings with the same weights and batches part.

    Attributes:
        loss: the largest difference of the losses after any of the steps.
        weight: the largest difference of a weight after the last step.
        last_loss: the program's at the end.
    """

    loss: float
    weight: float
    last_loss: float


def compare(*, model: str, numerics: str, corpus: str) -> dict[str, float]:
    """Compare both trainings of `model`, in a process of its own."""
    text = Path(corpus).read_text(encoding="utf-8")
    return vars(difference(model, text, numerics=numerics, steps=work.COMPARED_STEPS))


def difference(model: str, text: str, *, numerics: str, steps: int) -> Difference:
    """Train the program's `model` and the plain one from the same weights, on the same batches."""
    vocabulary = Vocabulary.of(text)
    tokens = vocabulary.encode(text)
    cut = int(0.9 * len(tokens))
    train_part, val = tokens[:cut], tokens[cut : cut + _WINDOWS * work.BLOCK_SIZE + 1]
    plain = reference.model_of(model, len(vocabulary), work.BLOCK_SIZE, work.N_EMBD)
    reference.load_weights(plain, new_model(model, len(vocabulary)).state_dict())
    theirs = list(_plain_losses(plain, train_part, val, work.LEARNING_RATES[model], steps))

    with TemporaryDirectory() as scratch, chdir(scratch):
        vocabulary.save(paths.VOCABULARY)
        save_tokens(paths.TRAIN_TOKENS, train_part)
        save_tokens(paths.VAL_TOKENS, val)
        ours = _program_losses(model, numerics, steps)
        _, reached = checkpoint.load(paths.checkpoint(model, work.SEED))
    weights = plain.state_dict()
    return Difference(
        loss=_largest(abs(a - b) for a, b in zip(ours, theirs, strict=True)),
        weight=_largest(
            (weights[name.removeprefix("head.")] - found).abs().max().item() for name, found in reached.items()
        ),
        last_loss=ours[-1],
    )


def _largest(differences: Iterable[float]) -> float:
    """Return the largest, or NaN if one is: `max` would pass over a NaN that is not the first."""
    return torch.tensor(list(differences), dtype=torch.float64).max().item()


def _program_losses(model: str, numerics: str, steps: int) -> list[float]:
    """Train as a worker does; return the losses on the validation text before the first step and after each."""
    curve = train(model, numerics, work.Sizes(), steps, eval_interval=1)
    return [point["val_loss"] for point in curve]


def _plain_losses(
    plain: torch.nn.Module, train_part: Tokens, val: Tokens, learning_rate: float, steps: int
) -> Iterator[float]:
    """Train on the program's batches; yield the losses on the validation text before the first step and after each."""
    idx, targets = (torch.cat(part) for part in zip(*consecutive_windows(val, work.BLOCK_SIZE), strict=True))
    batches = (batch(train_part, work.SEED, step, work.BATCH_SIZE, work.BLOCK_SIZE) for step in range(steps))
    yield _loss(plain, idx, targets)
    for _ in reference.train(plain, batches, learning_rate):
        yield _loss(plain, idx, targets)


@torch.no_grad()
def _loss(plain: torch.nn.Module, idx: Tensor, targets: Tensor) -> float:
    logits, _ = plain(idx)
    return F.cross_entropy(logits.flatten(0, 1).double(), targets.flatten()).item()
