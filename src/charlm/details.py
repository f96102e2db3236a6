"""The details that tell why the models differ, as evaluate wrote them, read and checked."""

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, JsonValue, RootModel, model_validator

from charlm import paths
from charlm.reading import Input, Name, no_table, read_json, read_table, refusal, spread_out

Probability = Annotated[float, Field(ge=0, le=1)]

# Weights are written with 6 decimals, so a row of T of them may be off by T times half of the last.
_ROUNDING = 1e-6


def read_positions(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read the validation loss at each place in the window, by model, in nats per character."""
    rows = read_table(path, {"model": "str", "position": "int64", "loss": "float64"})
    table = spread_out(path, rows, index=["position"], columns="model", values=["loss"])["loss"]
    if table.index.tolist() != list(range(len(table))):
        raise refusal(path, "does not count the positions from 0 without a gap")
    return {str(model): table[model].to_numpy() for model in rows["model"].unique()}


@dataclass(frozen=True)
class Character:
    """How hard one character of the validation text is to predict: the mean loss by model, in nats."""

    character: str
    kind: str  # such as "lower case"
    count: int
    losses: dict[str, float]


def read_characters(path: Path) -> tuple[Character, ...]:
    """Read what is known of each character."""
    columns = {"model": "str", "character": "str", "class": "str", "count": "int64", "loss": "float64"}
    rows = read_table(path, columns)
    table = spread_out(path, rows, index=["character", "class", "count"], columns="model", values=["loss"])["loss"]
    models = [str(model) for model in rows["model"].unique()]
    try:
        return tuple(
            Character(_only_character(json.loads(quoted)), kind, int(count), dict(zip(models, losses, strict=True)))
            for (quoted, kind, count), losses in zip(table.index, table[models].to_numpy().tolist(), strict=True)
        )
    except ValueError as error:
        raise no_table(path, columns, error) from None


def _only_character(text: Any) -> str:
    if not isinstance(text, str) or len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


class Predictions(Input):
    """The likeliest next characters after either context, with their probabilities, from the top."""

    left: tuple[tuple[str, Probability], ...]
    right: tuple[tuple[str, Probability], ...]


class Pair(Input):
    """Two contexts that end alike, and what each model makes of them."""

    left: str = Field(min_length=1)
    right: str = Field(min_length=1)
    found: bool
    predictions: dict[Name, Predictions]
    distance: dict[Name, float]

    @model_validator(mode="after")
    def _the_last_character_decides_for_a_bigram(self) -> Self:
        if self.left[-1] != self.right[-1]:
            raise ValueError("the contexts do not end in the same character")
        if "bigram" in self.predictions and self.predictions["bigram"].left != self.predictions["bigram"].right:
            raise ValueError("the bigram tells apart what ends in the same character")
        if self.predictions.keys() != self.distance.keys():
            raise ValueError("'predictions' and 'distance' are of different models")
        return self


class Pairs(RootModel[tuple[Pair, ...]]):
    """`reports/details/pairs.json`."""

    model_config = ConfigDict(frozen=True, strict=True)


class Attention(Input):
    """Where a model looks: at each character of a text, and on average by distance."""

    text: str = Field(min_length=1)
    weights: tuple[tuple[Probability, ...], ...]  # (T, T), the row is the place that looks
    by_distance: tuple[Probability, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_place_looks_at_itself_and_back(self) -> Self:
        T = len(self.text)
        if len(self.weights) != T or any(len(row) != T for row in self.weights):
            raise ValueError(f"the weights are not {T} rows of {T} for a text of {T} characters")
        for place, row in enumerate(self.weights):
            if any(row[place + 1 :]):
                raise ValueError(f"row {place} of the weights looks ahead")
            if abs(math.fsum(row) - 1) > T * _ROUNDING:
                raise ValueError(f"row {place} of the weights has the sum {math.fsum(row):.6f}, not 1")
        return self


class AttentionByModel(RootModel[dict[Name, Attention]]):
    """`reports/details/attention.json`; empty where no model attends."""

    model_config = ConfigDict(frozen=True, strict=True)


class Budget(Input):
    """The section `train` of params.yaml."""

    model_config = ConfigDict(extra="allow")
    batch_size: int
    steps: int


class Provenance(Input):
    """`reports/details/provenance.json`: what the results are made of, and the parameters that shaped them."""

    corpus_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    corpus_characters: int
    vocabulary_size: int
    torch: str
    train: Budget
    models: dict[Name, dict[str, JsonValue]]
    compute: dict[str, JsonValue]
    evaluate: dict[str, JsonValue]


@dataclass(frozen=True)
class Details:
    """All that `reports/details/` holds."""

    positions: dict[str, NDArray[np.float64]]
    characters: tuple[Character, ...]
    pairs: tuple[Pair, ...]
    attention: dict[str, Attention]
    provenance: Provenance


def read_details(models: Collection[str]) -> Details:
    """Read all details of these models.

    Raises:
        CharlmError: a file is missing or broken, or says nothing of one of the models.
    """
    positions, characters = read_positions(paths.POSITIONS), read_characters(paths.CHARACTERS)
    pairs = read_json(Pairs, paths.PAIRS).root
    attention = read_json(AttentionByModel, paths.ATTENTION).root
    known: list[tuple[Path, Collection[str]]] = [
        (paths.POSITIONS, positions),
        (paths.CHARACTERS, characters[0].losses),
        *((paths.PAIRS, pair.predictions) for pair in pairs),
    ]
    for path, there in known:
        for model in models:
            if model not in there:
                raise refusal(path, f"says nothing of the model {model}")
    return Details(
        {model: positions[model] for model in models},
        characters,
        pairs,
        {model: attention[model] for model in models if model in attention},
        read_json(Provenance, paths.PROVENANCE),
    )
