"""Counting in pieces is counting."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charlm import frequencies
from charlm.frequencies import count, count_pairs

V = 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(st.integers(0, V - 1), max_size=30), at_once=st.integers(1, 31))
def test_every_token_and_every_pair_counts_once_wherever_a_piece_ends(
    monkeypatch: pytest.MonkeyPatch, text: list[int], at_once: int
) -> None:
    monkeypatch.setattr(frequencies, "_AT_ONCE", at_once)
    tokens = np.array(text, dtype=np.uint8)
    singles, pairs = Counter(text), Counter(pairwise(text))
    assert count(tokens, V).tolist() == [singles[a] for a in range(V)]
    assert count_pairs(tokens, V).tolist() == [[pairs[a, b] for b in range(V)] for a in range(V)]
