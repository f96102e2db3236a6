"""The work that both sides are given, and the clocks that it is measured by."""

import time
from collections.abc import Callable
from dataclasses import dataclass

BATCH_SIZE = 32
BLOCK_SIZE = 32
N_EMBD = 32
SEED = 1


@dataclass(frozen=True)
class Sizes:
    """The sizes of a training; n_embd is also the head's, and the bigram table has none."""

    batch_size: int = BATCH_SIZE
    block_size: int = BLOCK_SIZE
    n_embd: int = N_EMBD


MODELS = {
    "bigram": "charlm.models.bigram:BigramLanguageModel",
    "attention": "charlm.models.attention:AttentionLanguageModel",
}
LEARNING_RATES = {"bigram": 0.01, "attention": 0.001}
NUMERICS = ("portable", "native")

# An item names one of them to both of its sides: a busy machine would else be counted against one side alone.
PROCESSOR, WALL = "processor", "wall"
CLOCKS: dict[str, Callable[[], float]] = {
    PROCESSOR: time.process_time,  # of all threads; what waits for a core or the disk adds nothing
    WALL: time.perf_counter,
}

COMPARED_STEPS = 200
TOLERANCE = 1e-4  # nats per character, between the losses of both sides
SAMPLED_BATCHES = 200  # of the plain loop's estimate of a loss
TEXTS, TEXT_LENGTH = 16, 2000  # what is generated


def shape(model: str, sizes: Sizes) -> dict[str, int]:
    """Return the arguments of the program's `model` beyond vocab_size and block_size."""
    return {"n_embd": sizes.n_embd, "head_size": sizes.n_embd} if model == "attention" else {}
