"""What the plain loop is measured by. Called through `benchmarks.probe`, as `benchmarks.program` is."""

from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks import reference, work
from benchmarks.reference import Batch

_WARM_UP = 20  # steps; from them it is known how many fill the time


def training(*, model: str, corpus: str, seconds: float, clock: str) -> dict[str, float]:
    """Train for about so many seconds on the text; return `speed`, in steps per second."""
    torch.manual_seed(work.SEED)
    data, characters = reference.encode(Path(corpus).read_text(encoding="utf-8"))
    network = reference.model_of(model, len(characters), work.BLOCK_SIZE, work.N_EMBD)
    steps = reference.train(network, _batches(data), work.LEARNING_RATES[model])
    next(steps)
    few = _speed(steps, _WARM_UP, clock)
    return {"speed": _speed(steps, max(_WARM_UP, int(few * seconds)), clock)}


def validation(*, model: str, corpus: str, seconds: float, clock: str) -> dict[str, float]:
    """Estimate the loss of the checkpoint in the current folder.

    Returns:
        `estimate`, its `sd`, and the `time` that one estimate takes.
    """
    from charlm import paths
    from charlm.restoring import restore

    now = work.CLOCKS[clock]
    torch.manual_seed(work.SEED)
    data, characters = reference.encode(Path(corpus).read_text(encoding="utf-8"))
    val = data[int(0.9 * len(data)) :]
    network = reference.model_of(model, len(characters), work.BLOCK_SIZE, work.N_EMBD)
    reference.load_weights(network, restore(paths.checkpoint(model, work.SEED))[0].state_dict())

    def estimate() -> torch.Tensor:
        batches = _batches(val)
        return reference.sampled_losses(network, work.SAMPLED_BATCHES, lambda: next(batches))

    found = [estimate()]
    times: list[float] = []
    while sum(times) < seconds:
        began = now()
        found.append(estimate())
        times.append(now() - began)
    sd = torch.cat(found).double().std().item() / work.SAMPLED_BATCHES**0.5
    return {"estimate": found[0].mean().item(), "sd": sd, "time": sum(times) / len(times)}


def generation(*, model: str, corpus: str, clock: str) -> dict[str, float]:
    """Generate the texts one by one, and then all in one batch. (The weights do not matter for it.)

    Returns:
        `speed` and `together`, the characters per second of each.
    """
    now = work.CLOCKS[clock]
    torch.manual_seed(work.SEED)
    V = len(set(Path(corpus).read_text(encoding="utf-8")))
    network = reference.model_of(model, V, work.BLOCK_SIZE, work.N_EMBD).eval()

    def speed(texts: int) -> float:
        began = now()
        for _ in range(work.TEXTS // texts):
            reference.generate(network, torch.zeros((texts, 1), dtype=torch.long), work.TEXT_LENGTH, work.BLOCK_SIZE)
        return work.TEXTS * work.TEXT_LENGTH / (now() - began)

    return {"speed": speed(1), "together": speed(work.TEXTS)}


def tokenizing(*, corpus: str, clock: str) -> dict[str, float]:
    """Read and encode a text; return the MB per second."""
    now = work.CLOCKS[clock]
    began = now()
    reference.encode(Path(corpus).read_text(encoding="utf-8"))
    return {"speed": Path(corpus).stat().st_size / 1e6 / (now() - began)}


def _batches(data: torch.Tensor) -> Iterator[Batch]:
    while True:
        yield reference.get_batch(data, work.BATCH_SIZE, work.BLOCK_SIZE)


def _speed(steps: Iterator[int], count: int, clock: str) -> float:
    now = work.CLOCKS[clock]
    began = now()
    for _ in range(count):
        next(steps)
    return count / (now() - began)
