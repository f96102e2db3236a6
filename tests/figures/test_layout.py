"""How labels are kept apart."""

import itertools

import numpy as np

from charlm.figures.layout import spread


class TestSpread:
    def test_leaves_alone_what_does_not_overlap(self) -> None:
        assert spread([50, 10, 30], [10, 10, 10], 0, 100) == [50, 10, 30]

    def test_is_the_best_of_all_placements_on_a_grid(self) -> None:
        wanted, sizes, low, high = [4, 5, 5, 12], [2, 4, 2, 2], 0, 14
        grid = np.arange(low, high + 0.25, 0.25)

        def is_allowed(centres: tuple[float, ...]) -> bool:
            intervals = [(c - s / 2, c + s / 2) for c, s in zip(centres, sizes, strict=True)]
            inside = all(low <= start and end <= high for start, end in intervals)
            return inside and all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(intervals))

        def cost(centres: tuple[float, ...] | list[float]) -> float:
            return sum((c - w) ** 2 for c, w in zip(centres, wanted, strict=True))

        found = spread(wanted, sizes, low, high)
        assert is_allowed(tuple(found))
        best = min(cost(centres) for centres in itertools.combinations(grid.tolist(), 4) if is_allowed(centres))
        assert cost(found) <= best

    def test_keeps_to_the_range(self) -> None:
        assert spread([0, 0, 100], [10, 10, 10], 0, 100) == [5, 15, 95]
