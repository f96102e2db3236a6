"""Which model has which colour and marker, in every picture and on every page."""

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Style(NamedTuple):
    """How a model looks: a colour, and matplotlib's letter for a marker."""

    colour: str
    marker: str


Styles = Mapping[str, Style]

# Okabe and Ito's colours, which colour-blind readers can tell apart. In grey they cannot be told apart: that is
# what the markers are for.
_STYLES = {"bigram": Style("#D55E00", "o"), "attention": Style("#0072B2", "s")}
_FURTHER_STYLES = (
    Style("#009E73", "^"),
    Style("#CC79A7", "D"),
    Style("#E69F00", "v"),
    Style("#56B4E9", "P"),
    Style("#000000", "X"),
)


def styles(models: Iterable[str]) -> Styles:
    """Give each model a colour and a marker; a known one always has the same."""
    further = itertools.cycle(_FURTHER_STYLES)
    return {model: _STYLES.get(model) or next(further) for model in models}
