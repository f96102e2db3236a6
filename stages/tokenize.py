"""Stage tokenize: the text becomes a vocabulary and one file of ids for each split."""

import logging
from functools import partial

from charlm import paths
from charlm.params import load
from charlm.settings import Window
from charlm.splits import save_splits, survey, train_length
from charlm.stage import run
from charlm.text import pieces
from charlm.tokenizing import Tokenize

log = logging.getLogger(__name__)


def main() -> None:
    """Write the vocabulary and the tokens of train and validation."""
    tokenize, block_size = load(Tokenize), load(Window).block_size
    text = partial(pieces, paths.CORPUS, tokenize.encoding, normalise=tokenize.normalise)
    vocabulary, length = survey(text(say=log.info))
    train = train_length(length, tokenize.val_fraction, block_size)

    vocabulary.save(paths.VOCABULARY)
    save_splits(paths.TRAIN_TOKENS, paths.VAL_TOKENS, text(), vocabulary, train=train, length=length)
    log.info("%d characters, %d distinct: %d train, %d validation", length, len(vocabulary), train, length - train)


if __name__ == "__main__":
    run(main)
