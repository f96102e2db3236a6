"""Are the results whole, and all their numbers numbers?"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel

from charlm import paths
from charlm.errors import CharlmError
from charlm.evaluations import Evaluate
from charlm.params import load
from charlm.reading import read_json
from charlm.results import Metrics, Samples, read_curve


def bad_results() -> Iterator[tuple[Path, str]]:
    """Read the results in the current folder as the report does, and yield those that are no good, and why."""
    try:
        models = load(Evaluate).models
    except CharlmError as error:
        yield paths.PARAMS, str(error)
        return
    readers: dict[Path, Callable[[Path], object]] = {
        paths.METRICS: partial(_read_metrics, models=models),
        paths.SAMPLES: partial(read_json, Samples),
        **dict.fromkeys(map(paths.curve, models), read_curve),
    }
    for path, read in readers.items():
        if path.exists():
            try:
                read(path)
            except CharlmError as error:
                yield path, str(error)


def _read_metrics(path: Path, models: tuple[str, ...]) -> None:
    """Demand every model, every key that `charlm.comparison` always writes, and no number that is none."""
    try:
        json.loads(path.read_bytes(), parse_constant=_refuse)
    except ValueError as error:
        raise CharlmError(str(error)) from None
    metrics = read_json(Metrics, path)
    found = tuple(metrics.models)
    if found != models:
        raise CharlmError(f"it has the models {', '.join(found)}, and evaluate.models names {', '.join(models)}")
    if lacking := sorted(_lacking(metrics)):
        raise CharlmError(f"it lacks {', '.join(lacking)}")


def _lacking(metrics: Metrics) -> Iterator[str]:
    """Yield the keys that are not there, and that the report can be written without."""
    parts: dict[str, BaseModel] = {f"models.{name}": model for name, model in metrics.models.items()}
    if metrics.difference:
        parts["difference"] = metrics.difference
    for name, part in parts.items():
        yield from (f"{name}.{key}" for key in type(part).model_fields.keys() - part.model_fields_set)
    if "bigram" in metrics.models and not metrics.floor:
        yield "floor"
    for name in ("uniform", "unigram", "bigram"):
        if name not in metrics.counts:
            yield f"counts.{name}"
        elif metrics.counts[name].train_loss is None:  # that of validation may be infinite, and is left out then
            yield f"counts.{name}.train_loss"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number")
