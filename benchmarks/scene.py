"""What the measurements share: the text, the cores, and scratch folders with what they need in them."""

import os
import shutil
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.harness import PLAIN, ROOT, Ended, call, run
from charlm import corpus, paths
from charlm.errors import CharlmError
from charlm.numerics import environment

_CHECKPOINT_STEPS = 1000


@dataclass(frozen=True)
class Scene:
    """Where a benchmark takes place.

    Attributes:
        scratch: an empty folder.
        text: the corpus.
        cores: that may be used; all but the largest items get the last of them.
    """

    scratch: Path
    text: Path
    cores: list[int]
    _checkpoints: set[str] = field(default_factory=set)

    def program(self, target: str, *, numerics: str = "portable", folder: Path | None = None, **rest: Any) -> Ended:
        """Call a function of this package, with the variables that the pipeline's workers get."""
        rest |= {"numerics": numerics}
        return call(target, environment=environment(numerics), on=self.cores[-1:], folder=folder, **rest)

    def plain(self, target: str, *, folder: Path | None = None, **rest: Any) -> Ended:
        """Call a function of this package, with the variables that a plain script gets."""
        return call(target, environment=PLAIN, on=self.cores[-1:], folder=folder, **rest)

    @cached_property
    def prepared(self) -> Path:
        """A folder with the corpus and its tokens."""
        return self.tokenized("corpus", self.text)

    def with_checkpoint(self, model: str) -> Path:
        """Return that folder, with a checkpoint of the model in it."""
        if model not in self._checkpoints:
            self.program("benchmarks.program:checkpoint", folder=self.prepared, model=model, steps=_CHECKPOINT_STEPS)
            self._checkpoints.add(model)
        return self.prepared

    def tokenized(self, name: str, text: Path) -> Path:
        """Return a new folder in which the stage tokenize has run on `text`."""
        folder = self.scratch / name
        lay_out(folder, text)
        tokenize(folder, self.cores[-1:])
        return folder


def lay_out(folder: Path, text: Path) -> None:
    """Make a folder in which the stage tokenize can run on `text`."""
    (folder / paths.CORPUS).parent.mkdir(parents=True)
    (folder / paths.CORPUS).symlink_to(text.resolve())
    shutil.copy(ROOT / paths.PARAMS, folder)


def tokenize(folder: Path, on: list[int]) -> Ended:
    """Run the stage tokenize in the folder."""
    return run([sys.executable, "-m", "stages.tokenize"], environment={}, on=on, folder=folder)


def find_text() -> Path:
    """Return the corpus: the local copy that is named, or the pipeline's own."""
    found = Path(os.environ.get(corpus.LOCAL_COPY) or ROOT / paths.CORPUS).resolve()
    if not found.is_file():
        raise CharlmError(f"{found} is not there; `dvc repro download` brings the text, or set {corpus.LOCAL_COPY}")
    return found
