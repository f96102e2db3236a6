"""Stage evaluate: exact scores of every run and of the closed-form models, and what context does to each model."""

from charlm import files, paths
from charlm.comparison import by_character, by_position, summarise
from charlm.evaluations import Evaluate, as_samples, evaluate_all
from charlm.params import load
from charlm.settings import Compute, Train
from charlm.stage import run
from charlm.vocabulary import Vocabulary


def main() -> None:
    """Measure everything, then write it: metrics, texts, and the details behind them."""
    own, train, compute = load(Evaluate), load(Train), load(Compute)
    vocabulary = Vocabulary.load(paths.VOCABULARY)
    own.check_prompt(vocabulary)
    found = evaluate_all(own, train, compute)
    metrics = summarise(
        found.runs,
        found.counts,
        block_length=own.block_length,
        resamples=own.resamples,
        bootstrap_seed=own.bootstrap_seed,
    )
    characters = by_character(found.runs, vocabulary.characters)
    provenance = {
        "corpus_sha256": files.sha256(paths.CORPUS),
        **found.context["made"],
        "train": train.model_dump(),
        "compute": compute.model_dump(),
        "evaluate": own.model_dump(),
    }

    files.write_json(paths.METRICS, metrics)
    files.write_json(paths.SAMPLES, as_samples(own, found.texts))
    files.write_csv(paths.POSITIONS, ["model", "position", "loss"], by_position(found.runs))
    files.write_csv(paths.CHARACTERS, ["model", "character", "class", "count", "loss"], characters)
    files.write_json(paths.PAIRS, found.context["pairs"])
    files.write_json(paths.ATTENTION, found.context["attention"])
    files.write_json(paths.PROVENANCE, provenance)


if __name__ == "__main__":
    run(main)
