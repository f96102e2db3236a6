"""The parameter sections that several stages share: `train` and `compute`."""

import os
import re
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field

from charlm.errors import CharlmError
from charlm.params import Section

LearningRate = Annotated[float, Field(gt=0, le=10, description="a step size above 0 and up to 10")]
T = TypeVar("T")

Seed = Annotated[int, Field(ge=0, lt=2**32)]  # torch uses the low 32 bits only


def all_distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    """Return `values`; raises ValueError, which pydantic reports, when one stands twice."""
    if len(set(values)) < len(values):
        raise ValueError("a value stands twice")
    return values


class Window(Section):
    """The part of `train` that tokenize needs: how long one window is."""

    section: ClassVar[str] = "train"
    model_config = ConfigDict(extra="ignore")
    block_size: int = Field(ge=1, le=65536, description="characters a model may see, a whole number of 1 to 65536")


class Train(Window):
    """What all models share: batches, budget, evaluation and seeds."""

    model_config = ConfigDict(extra="forbid")
    batch_size: int = Field(ge=1, le=65536, description="windows per step, a whole number of 1 to 65536")
    steps: int = Field(ge=1, le=10**9, description="optimiser steps per run, a whole number of 1 to 10^9")
    eval_interval: int = Field(ge=1, description="steps between two evaluations, a whole number of at least 1")
    schedule: Literal["constant", "cosine"] = Field(description="constant or cosine")
    warmup_steps: int = Field(ge=0, le=10**9, description="steps in which the learning rate rises, 0 or more")
    seeds: Annotated[tuple[Seed, ...], AfterValidator(all_distinct)] = Field(
        min_length=1, description="a list of distinct whole numbers of 0 to 2^32 - 1, one run each"
    )


class Compute(Section):
    """Where and how numbers are computed."""

    section: ClassVar[str] = "compute"
    device: Literal["cpu", "cuda", "mps", "auto"] = Field(description="cpu, cuda, mps or auto")
    numerics: Literal["portable", "native"] = Field(description="portable or native")


def jobs() -> int:
    """How many worker processes may run at a time: CHARLM_JOBS, else the cores this process may use.

    A variable of the environment and no parameter, since it must not change a result.
    """
    text = os.environ.get("CHARLM_JOBS", "")
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", text):
        raise CharlmError(f"CHARLM_JOBS is '{text[:20]}'; it wants a whole number of 1 to 999999, or to be unset")
    return int(text)
