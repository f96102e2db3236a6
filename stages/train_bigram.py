"""Stage train_bigram: one bigram table per seed."""

from typing import ClassVar

from charlm.params import Section, load
from charlm.runs import Recipe, train_all
from charlm.settings import Compute, LearningRate, Train
from charlm.stage import run


class Bigram(Section):
    """The section `bigram` of params.yaml."""

    section: ClassVar[str] = "bigram"
    learning_rate: LearningRate


def main() -> None:
    """Train, save and record the bigram model."""
    own = load(Bigram)
    recipe = Recipe("bigram", "charlm.models.bigram:BigramLanguageModel", own.learning_rate, shape={})
    train_all(recipe, load(Train), load(Compute))


if __name__ == "__main__":
    run(main)
