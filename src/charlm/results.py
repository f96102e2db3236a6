"""What the earlier stages wrote, read and checked: loss curves, metrics and generated texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from charlm.errors import CharlmError

_AGAIN = "run `dvc repro` to make it anew"
_COLUMNS = {"seed": "int64", "step": "int64", "train_loss": "float64", "val_loss": "float64"}


@dataclass(frozen=True)
class Curve:
    """The losses of all runs of one model, in nats per character."""

    seeds: tuple[int, ...]
    steps: NDArray[np.int64]  # (N,), rising
    train: NDArray[np.float64]  # (S, N), one row per seed
    val: NDArray[np.float64]  # (S, N)


def read_curve(path: Path) -> Curve:
    """Read a table with one row per seed and evaluation.

    Raises:
        CharlmError: the file is missing, or is not a whole table of finite losses.
    """
    try:
        rows = pd.read_csv(path, usecols=list(_COLUMNS), dtype=_COLUMNS)
        table = rows.pivot(index="seed", columns="step", values=["train_loss", "val_loss"])
    except FileNotFoundError:
        raise CharlmError(f"{path} is not here; run `dvc repro`") from None
    except (ValueError, pd.errors.ParserError) as error:
        reason = str(error).splitlines()[0]
        raise CharlmError(f"{path} is not a table of {', '.join(_COLUMNS)}: {reason}; {_AGAIN}") from None
    if table.empty:
        raise CharlmError(f"{path} holds no losses; {_AGAIN}")
    if not np.isfinite(table.to_numpy()).all():
        raise CharlmError(f"{path} lacks a finite loss for some seed and step; {_AGAIN}")
    train, val = table["train_loss"], table["val_loss"]
    return Curve(tuple(table.index), train.columns.to_numpy(), train=train.to_numpy(), val=val.to_numpy())


class _Input(BaseModel):
    """A part of an input file. Keys that are not described here are for other readers."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # it goes into paths and table cells
ClosedFormLoss = Annotated[float, Field(ge=0, le=100)]  # at most the log of the text's length


class Trained(_Input):
    """One model, means over seeds; losses in nats per character. With one seed there is no sd."""

    parameters: int
    train_loss: float
    val_loss: float
    val_loss_sd: float | None
    val_bits: float
    val_perplexity: float
    val_accuracy: float


class Counts(_Input):
    """A model in closed form. Maximum likelihood has no validation loss: it is infinite."""

    train_loss: ClosedFormLoss | None = None
    val_loss: ClosedFormLoss | None = None


class Difference(_Input):
    """The second model minus the first, paired by seed."""

    val_loss: float
    val_loss_sd: float | None
    val_bits: float


class Tokens(_Input):
    """How many characters were predicted."""

    train: int
    val: int


class Metrics(_Input):
    """`reports/metrics.json`."""

    models: dict[Name, Trained] = Field(min_length=1)
    difference: Difference | None = None
    counts: dict[Name, Counts]
    tokens: Tokens
    seeds: int = Field(ge=1)

    @model_validator(mode="after")
    def _two_models_differ(self) -> Self:
        if len(self.models) > 1 and self.difference is None:
            raise ValueError("two models and no 'difference'")
        return self


class Generated(_Input):
    """What one model wrote."""

    model: Name
    temperature: float
    text: str


class Samples(_Input):
    """`reports/samples.json`."""

    prompt: str
    seed: int
    length: int
    texts: tuple[Generated, ...]


F = TypeVar("F", bound=_Input)


def read(kind: type[F], path: Path) -> F:
    """Read a JSON file that `kind` describes.

    Raises:
        CharlmError: the file is missing, or a key is missing or has the wrong kind of value.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise CharlmError(f"{path} is not here; run `dvc repro`") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CharlmError(f"{path}: {where + ': ' if where else ''}{first['msg']}; {_AGAIN}") from None
