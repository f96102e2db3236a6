"""What several tests of the benchmark need."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="module")
def torch_as_before() -> Iterator[None]:
    """Training settles torch for its process; here that is the tests' own."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
