"""Stage tokenize: the text becomes a vocabulary and one file of ids for each split."""

import logging
from typing import ClassVar

from pydantic import Field

from charlm import paths
from charlm.console import run
from charlm.params import Section, load
from charlm.settings import Window
from charlm.splits import read_text, save_tokens, split
from charlm.vocabulary import Vocabulary

log = logging.getLogger(__name__)


class Tokenize(Section):
    """The section `tokenize` of params.yaml."""

    section: ClassVar[str] = "tokenize"
    val_fraction: float = Field(gt=0, lt=1, description="the validation split's share of the text, between 0 and 1")


def main() -> None:
    """Write the vocabulary and the tokens of train and validation."""
    text = read_text(paths.CORPUS)
    vocabulary = Vocabulary.of(text)
    train, val = split(vocabulary.encode(text), load(Tokenize).val_fraction, load(Window).block_size)

    vocabulary.save(paths.VOCABULARY)
    save_tokens(paths.TRAIN_TOKENS, train)
    save_tokens(paths.VAL_TOKENS, val)
    log.info("%d characters, %d distinct: %d train, %d validation", len(text), len(vocabulary), len(train), len(val))


if __name__ == "__main__":
    run(main)
