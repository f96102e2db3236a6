"""All that `evaluate` measures, spread over worker processes."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from charlm import numerics, paths
from charlm.settings import Compute, Train, jobs
from charlm.workers import Task, run_tasks

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sampling:
    """How texts are generated; see `charlm.sampling.generate`."""

    prompt: str
    length: int
    temperature: float
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """What was measured.

    Attributes:
        runs: for each model, the score of each seed's run, in the order of the seeds.
        counts: for each closed-form model its losses.
        texts: for each model, the prompt as it was used and the text that follows.
    """

    runs: dict[str, list[dict[str, Any]]]
    counts: dict[str, dict[str, float]]
    texts: dict[str, dict[str, str]]


def evaluate_all(models: Sequence[str], train: Train, compute: Compute, sampling: Sampling) -> Evaluation:
    """Score each checkpoint of `models` and the closed-form models, and let the first seed's runs write a text."""
    machine = compute.model_dump()
    tasks = [Task("charlm.one_evaluation:score_counts", {"block_size": train.block_size, "compute": machine})]
    for model in models:
        checkpoints = [str(paths.checkpoint(model, seed)) for seed in train.seeds]
        tasks += [
            Task("charlm.one_evaluation:score_checkpoint", {"checkpoint": checkpoint, "compute": machine})
            for checkpoint in checkpoints
        ]
        tasks.append(
            Task(
                "charlm.one_evaluation:sample_checkpoint",
                {"checkpoint": checkpoints[0], "compute": machine, **asdict(sampling)},
            )
        )
    counts, *results = run_tasks(
        tasks,
        jobs=jobs(),
        environment=numerics.environment(compute.numerics),
        on_event=lambda index, event: log.info("%s", event),
    )
    per_model = len(train.seeds) + 1
    of_model = {model: results[i * per_model : (i + 1) * per_model] for i, model in enumerate(models)}
    return Evaluation(
        runs={model: found[:-1] for model, found in of_model.items()},
        counts=counts,
        texts={model: found[-1] for model, found in of_model.items()},
    )
