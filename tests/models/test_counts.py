"""Closed-form models against counts made one by one."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from charlm.evaluation import score
from charlm.models import counts
from charlm.models.counts import TableLanguageModel
from charlm.tokens import Tokens, consecutive_windows
from charlm.vocabulary import Vocabulary

V = 5
TOKENS = st.lists(st.integers(0, V - 1), min_size=2, max_size=60)
Splits = tuple[Tokens, Tokens]


def ids(text: list[int]) -> Tokens:
    return np.array(text, dtype=np.uint8)


def shares(model: TableLanguageModel) -> list[list[float]]:
    probabilities: list[list[float]] = model(torch.arange(V)[:, None])[0][:, 0].exp().tolist()
    return probabilities


def near(fractions: list[list[Fraction]]) -> list[object]:
    return [pytest.approx([float(share) for share in row], rel=1e-12, abs=1e-15) for row in fractions]


def test_uniform_is_the_same_share_for_all() -> None:
    assert shares(counts.uniform(V, block_size=1)) == near([[Fraction(1, V)] * V] * V)


@given(TOKENS)
def test_unigram_is_each_tokens_share_whatever_came_before(text: list[int]) -> None:
    found = Counter(text)
    row = [Fraction(found[token], len(text)) for token in range(V)]
    assert shares(counts.unigram(ids(text), V, block_size=1)) == near([row] * V)


@given(TOKENS, st.sampled_from([0, 1, 3]))
def test_bigram_is_each_pairs_share_of_its_first_token(text: list[int], added: int) -> None:
    pairs = Counter(pairwise(text))
    firsts = Counter(text[:-1])
    expected = [
        [
            Fraction(pairs[a, b] + added, firsts[a] + V * added) if firsts[a] + added else Fraction(1, V)
            for b in range(V)
        ]
        for a in range(V)
    ]
    assert shares(counts.bigram(ids(text), V, block_size=1, added=added)) == near(expected)


@given(TOKENS)
def test_every_row_sums_to_one(text: list[int]) -> None:
    tokens = ids(text)
    for model in (
        counts.uniform(V, block_size=1),
        counts.unigram(tokens, V, block_size=1),
        counts.bigram(tokens, V, block_size=1, added=0),
        counts.bigram(tokens, V, block_size=1, added=1),
    ):
        assert [math.fsum(row) for row in shares(model)] == [pytest.approx(1, abs=1e-12)] * V


@pytest.fixture(scope="module")
def shakespeare(corpus_text: str) -> Splits:
    ids = Vocabulary.of(corpus_text).encode(corpus_text)
    return ids[:1_003_854], ids[1_003_854:]


@pytest.mark.parametrize(
    ("make", "train_loss", "val_loss"),
    [
        (lambda train: counts.uniform(65, block_size=32), 4.1744, 4.1744),
        (lambda train: counts.unigram(train, 65, block_size=32), 3.3091, 3.3473),
        (lambda train: counts.bigram(train, 65, block_size=32, added=0), 2.4519, math.inf),
        (lambda train: counts.bigram(train, 65, block_size=32, added=1), None, 2.4819),
    ],
    ids=["uniform", "unigram", "bigram", "add-one"],
)
def test_losses_on_tiny_shakespeare_are_the_known_ones(
    shakespeare: Splits, make: Callable[[Tokens], TableLanguageModel], train_loss: float | None, val_loss: float
) -> None:
    train, val = shakespeare
    model = make(train)
    for split, known in ((train, train_loss), (val, val_loss)):
        if known is not None:
            found = score(model, consecutive_windows(split, 32), torch.device("cpu"))
            assert found.loss == pytest.approx(known, abs=5e-5)
            assert found.tokens == len(split) - 1
