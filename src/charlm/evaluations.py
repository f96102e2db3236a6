"""All that `evaluate` measures, spread over worker processes."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from charlm import numerics, paths
from charlm.errors import CharlmError
from charlm.params import Section
from charlm.settings import Compute, Seed, Train, all_distinct, jobs
from charlm.workers import Task, run_tasks

if TYPE_CHECKING:
    from charlm.vocabulary import Vocabulary

log = logging.getLogger(__name__)

_CONTEXTS = tuple(range(1, 9))  # of the Kneser-Ney models: on tiny Shakespeare 6 is best


ModelName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
Temperature = Annotated[float, Field(ge=0, le=100)]


def _end_alike(pair: tuple[str, str]) -> tuple[str, str]:
    if not (pair[0] and pair[1] and pair[0][-1] == pair[1][-1]):
        raise ValueError("the two texts must end with the same character")
    return pair


class Evaluate(Section):
    """The section `evaluate` of params.yaml: what is measured and shown beyond the losses."""

    section: ClassVar[str] = "evaluate"
    models: Annotated[tuple[ModelName, ...], AfterValidator(all_distinct)] = Field(
        min_length=1, description="a list of distinct model names, each a folder under checkpoints/"
    )
    block_length: int = Field(ge=1, le=10**9, description="a whole number of characters of 1 to 10^9")
    resamples: int = Field(ge=100, le=10**6, description="a whole number of 100 to 10^6")
    bootstrap_seed: Seed = Field(description="a whole number of 0 to 2^32 - 1")
    context_pairs: tuple[Annotated[tuple[str, str], AfterValidator(_end_alike)], ...] = Field(
        description="a list of pairs of texts that end with the same character; [] for none"
    )
    found_pairs: int = Field(ge=0, le=100, description="how many more pairs to find in the text, 0 to 100")
    prompt: str = Field(description="a text, '' for the start of a line")
    length: int = Field(ge=1, le=100_000, description="how many characters to generate, 1 to 100000")
    temperatures: Annotated[tuple[Temperature, ...], AfterValidator(all_distinct)] = Field(
        min_length=1, description="a list of distinct numbers of 0 to 100"
    )
    sample_seed: Seed = Field(description="a whole number of 0 to 2^32 - 1")

    def check_prompt(self, vocabulary: "Vocabulary") -> None:
        """Raise CharlmError when the prompt has a character that the models do not know."""
        try:
            vocabulary.encode(self.prompt)
        except CharlmError as error:
            raise CharlmError(f"evaluate.prompt: {error}") from None


@dataclass(frozen=True)
class Evaluation:
    """What was measured.

    Attributes:
        runs: for each model, the score of each seed's run, in the order of the seeds.
        counts: for each closed-form model its losses.
        texts: for each model, the prompt as it was used and a text for each temperature.
        context: pairs of texts, attention weights, and how the models were made.
    """

    runs: dict[str, list[dict[str, Any]]]
    counts: dict[str, dict[str, float]]
    texts: dict[str, dict[str, Any]]
    context: dict[str, Any]


def evaluate_all(own: Evaluate, train: Train, compute: Compute) -> Evaluation:
    """Score all checkpoints and closed-form models; let the first seed's runs write and be looked into."""
    for model in own.models:
        if not paths.checkpoint(model, train.seeds[0]).parent.is_dir():
            raise CharlmError(
                f"evaluate.models names '{model}', and no stage has trained it: there is no checkpoints/{model}"
            )
    tasks: dict[tuple[Any, ...], Task] = {}

    def add(*key: Any, target: str, **arguments: Any) -> None:
        tasks[key] = Task(target, arguments | {"compute": compute.model_dump()})

    # What takes longest comes first, so that no process is left with it at the end.
    add("kneser_ney", target="charlm.one_evaluation:score_kneser_ney", contexts=_CONTEXTS, block_size=train.block_size)
    add("tables", target="charlm.one_evaluation:score_tables", block_size=train.block_size)
    checkpoints = {(model, seed): str(paths.checkpoint(model, seed)) for model in own.models for seed in train.seeds}
    for (model, seed), path in reversed(checkpoints.items()):
        add(
            "run",
            model,
            seed,
            target="charlm.one_evaluation:score_checkpoint",
            checkpoint=path,
            block_length=own.block_length,
        )
    first = {model: checkpoints[model, train.seeds[0]] for model in own.models}
    add(
        "context",
        target="charlm.one_evaluation:show_context",
        checkpoints_by_model=first,
        given_pairs=own.context_pairs,
        found_pairs=own.found_pairs,
    )
    for model, path in first.items():
        add(
            "text",
            model,
            target="charlm.one_evaluation:sample_checkpoint",
            checkpoint=path,
            prompt=own.prompt,
            length=own.length,
            temperatures=own.temperatures,
            seed=own.sample_seed,
        )

    results = run_tasks(
        list(tasks.values()),
        jobs=jobs(),
        environment=numerics.environment(compute.numerics),
        on_event=lambda index, event: log.info("%s", event),
    )
    found = dict(zip(tasks, results, strict=True))
    return Evaluation(
        runs={model: [found["run", model, seed] for seed in train.seeds] for model in own.models},
        counts=found["tables",] | found["kneser_ney",],
        texts={model: found["text", model] for model in own.models},
        context=found["context",],
    )


def as_samples(own: Evaluate, texts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the content of samples.json: what each model wrote, the lowest temperature first."""
    return {
        "prompt": texts[own.models[0]]["prompt"],
        "seed": own.sample_seed,
        "length": own.length,
        "texts": [
            {"model": model, "temperature": temperature, "text": text}
            for model in own.models
            for temperature, text in sorted(zip(own.temperatures, texts[model]["texts"], strict=True))
        ],
    }
