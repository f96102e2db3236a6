"""What every training here starts from."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from charlm.tokens import Tokens
from charlm.training import Splits
from tests.training.fitting import V


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Models this small are fastest so, and on a busy machine by far."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def splits() -> Splits:
    text: Tokens = np.random.default_rng(1).integers(0, V, 400).astype(np.uint8)
    return Splits(text[:300], text[300:])
