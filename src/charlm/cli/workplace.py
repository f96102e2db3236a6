"""Where a command works: the repository around it, its parameters, its checkpoints, and torch."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from charlm import paths
from charlm.cli.screen import shown
from charlm.errors import CharlmError
from charlm.evaluations import Evaluate
from charlm.numerics import environment
from charlm.params import load
from charlm.settings import Compute, Train
from charlm.tokenizing import Tokenize

if TYPE_CHECKING:
    import torch

REMEDY = "run `make repro` to make it, or `dvc pull` where a remote holds it"


@dataclass(frozen=True)
class Settings:
    """What the commands read of params.yaml."""

    tokenize: Tokenize
    evaluate: Evaluate
    train: Train
    compute: Compute

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the trained models, the baseline first."""
        return self.evaluate.models

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that each model was trained from."""
        return self.train.seeds

    def chosen(self, model: str | None, *others: str) -> tuple[str, ...]:
        """Return the one model that is named, or all. A wrong name is wrong usage; `others` could be meant, too."""
        if model is None:
            return self.models
        if model not in self.models:
            wanted = " or ".join([*self.models, *others])
            raise click.BadParameter(f"there is no '{model}'; it wants {wanted}", param_hint="--model")
        return (model,)


def settings() -> Settings:
    """Go to the repository's root and read its parameters.

    Raises:
        CharlmError: when no folder from here upwards is one, or a parameter is not as it should be.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / paths.PARAMS).is_file()), None)
    if root is None:
        raise CharlmError(
            f"no {paths.PARAMS} in {shown(here)} nor in a folder above it; run charlm inside of the repository"
        )
    os.chdir(root)
    return Settings(load(Tokenize), load(Evaluate), load(Train), load(Compute))


def checkpoint(model: str, seed: int) -> Path:
    """Return where the checkpoint of that run lies.

    Raises:
        CharlmError: when there is none.
    """
    path = paths.checkpoint(model, seed)
    if not path.is_file():
        there = ", ".join(str(seed) for seed in seeds_there(model))
        remedy = f"take one of the seeds {there}, or add {seed} to train.seeds and run `dvc repro`" if there else REMEDY
        raise CharlmError(f"{path} is not here; {remedy}")
    return path


def seeds_there(model: str) -> list[int]:
    """Return the seeds of the model's checkpoints that lie here."""
    stems = [path.stem.removeprefix("seed-") for path in paths.checkpoint(model, 0).parent.glob("seed-*.safetensors")]
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def start_torch(compute: Compute) -> "torch.device":
    """Set what torch reads while it is imported, import it, and return the device that computes.

    Raises:
        CharlmError: when the machine lacks the device, or the pins did not take.
    """
    os.environ.update(environment(compute.numerics))
    from charlm.device import settle

    return settle(**compute.model_dump())
