"""The main results, as the earlier stages wrote them: loss curves, metrics and generated texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from charlm.reading import Input, Name, read_table, spread_out


@dataclass(frozen=True)
class Curve:
    """The losses of all runs of one model, in nats per character."""

    seeds: tuple[int, ...]
    steps: NDArray[np.int64]  # (N,), rising
    train: NDArray[np.float64]  # (S, N), one row per seed
    val: NDArray[np.float64]  # (S, N)


def read_curve(path: Path) -> Curve:
    """Read a table with one row per seed and evaluation; `charlm.reading` says how it may fail."""
    rows = read_table(path, {"seed": "int64", "step": "int64", "train_loss": "float64", "val_loss": "float64"})
    table = spread_out(path, rows, index=["seed"], columns="step", values=["train_loss", "val_loss"])
    train, val = table["train_loss"], table["val_loss"]
    return Curve(tuple(table.index), train.columns.to_numpy(), train=train.to_numpy(), val=val.to_numpy())


ClosedFormLoss = Annotated[float, Field(ge=0, le=100)]  # at most the log of the text's length


class Trained(Input):
    """One model, means over seeds; losses in nats per character. With one seed there is no sd and no interval."""

    parameters: int
    train_loss: float
    train_loss_sd: float | None = None
    val_loss: float
    val_loss_sd: float | None = None
    val_loss_low: float | None = None  # of the t-interval of the mean over seeds
    val_loss_high: float | None = None
    val_loss_full: float | None = None  # each target predicted from block_size characters, or from all there are
    val_loss_full_sd: float | None = None
    val_bits: float
    val_perplexity: float
    val_accuracy: float
    counts_matched: int | None = None  # the longest context of counts that the model beats, 0 for none


class Counts(Input):
    """A model in closed form. Maximum likelihood has no validation loss: it is infinite."""

    train_loss: ClosedFormLoss | None = None
    val_loss: ClosedFormLoss | None = None
    val_loss_full: ClosedFormLoss | None = None


class Difference(Input):
    """The second model minus the first, paired by seed; null where there are too few seeds or too little text."""

    val_loss: float
    val_loss_sd: float | None = None
    val_bits: float
    val_bits_sd: float | None = None
    val_loss_full: float | None = None
    val_loss_full_sd: float | None = None
    seeds_low: float | None = None
    seeds_high: float | None = None
    text_low: float | None = None
    text_high: float | None = None
    block_length: int | None = None
    resamples: int | None = None


class Floor(Input):
    """How far the trained bigram's train loss lies above that of the best table. No table can be better."""

    bigram_train_gap: float
    bigram_train_gap_min: float = Field(ge=-1e-6)


class Tokens(Input):
    """How many characters were predicted."""

    train: int
    val: int


class Metrics(Input):
    """`reports/metrics.json`."""

    models: dict[Name, Trained] = Field(min_length=1)
    difference: Difference | None = None
    floor: Floor | None = None
    counts: dict[Name, Counts]
    tokens: Tokens
    seeds: int = Field(ge=1)
    block_size: int = Field(ge=1)

    @model_validator(mode="after")
    def _two_models_differ(self) -> Self:
        if len(self.models) > 1 and self.difference is None:
            raise ValueError("two models and no 'difference'")
        return self


class Generated(Input):
    """What one model wrote."""

    model: Name
    temperature: float
    text: str


class Samples(Input):
    """`reports/samples.json`."""

    prompt: str
    seed: int
    length: int
    texts: tuple[Generated, ...]
