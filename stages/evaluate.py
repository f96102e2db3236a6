"""Stage evaluate: exact scores of every run and of the closed-form models, and a text from each model."""

from typing import Annotated, ClassVar

from pydantic import Field

from charlm import paths
from charlm.comparison import summarise
from charlm.console import run
from charlm.evaluations import Sampling, evaluate_all
from charlm.files import write_json
from charlm.params import Section, load
from charlm.settings import Compute, Seed, Train


class Evaluate(Section):
    """The section `evaluate` of params.yaml."""

    section: ClassVar[str] = "evaluate"
    models: tuple[Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")], ...] = Field(
        min_length=1, description="a list of model names, each a folder under checkpoints/"
    )
    prompt: str = Field(description="a text, '' for the start of a line")
    length: int = Field(ge=1, le=100_000, description="how many characters to generate, 1 to 100000")
    temperature: float = Field(ge=0, le=100, description="a number of 0 to 100")
    sample_seed: Seed = Field(description="a whole number of 0 to 2^32 - 1")


def main() -> None:
    """Write the metrics and the texts."""
    own, train = load(Evaluate), load(Train)
    sampling = Sampling(own.prompt, own.length, own.temperature, own.sample_seed)
    found = evaluate_all(own.models, train, load(Compute), sampling)

    write_json(paths.METRICS, summarise(found.runs, found.counts))
    write_json(
        paths.SAMPLES,
        {
            "prompt": found.texts[own.models[0]]["prompt"],
            "seed": own.sample_seed,
            "length": own.length,
            "texts": [
                {"model": model, "temperature": own.temperature, "text": found.texts[model]["text"]}
                for model in own.models
            ],
        },
    )


if __name__ == "__main__":
    run(main)
