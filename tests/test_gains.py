"""Where the difference comes from, against sums over every single target."""

import random
import statistics

import pytest

from charlm.details import Character
from charlm.gains import by_character, by_kind, foremost

RNG = random.Random(1)
KINDS = {"a": "lower case", "b": "lower case", "c": "lower case", "A": "upper case", "B": "upper case", " ": "space"}
CHARACTERS = tuple(
    Character(c, kind, RNG.randrange(1, 50), {"x": RNG.uniform(1, 4), "y": RNG.uniform(1, 4)})
    for c, kind in KINDS.items()
)
TARGETS = [character for character in CHARACTERS for _ in range(character.count)]


def mean(which: str, targets: list[Character]) -> float:
    return statistics.fmean(target.losses[which] for target in targets)


def test_each_kind_has_its_means_its_share_and_its_part() -> None:
    found = {gain.name: gain for gain in by_kind(CHARACTERS, "x", "y")}
    assert set(found) == set(KINDS.values())
    for kind, gain in found.items():
        targets = [target for target in TARGETS if target.kind == kind]
        assert gain.share == pytest.approx(len(targets) / len(TARGETS))
        assert gain.baseline == pytest.approx(mean("x", targets))
        assert gain.change == pytest.approx(mean("y", targets) - mean("x", targets))
        assert gain.part == pytest.approx(sum(t.losses["y"] - t.losses["x"] for t in targets) / len(TARGETS))


@pytest.mark.parametrize("by", [by_kind, by_character])
def test_the_parts_sum_to_the_difference_and_the_largest_fall_comes_first(by: type) -> None:
    parts = [gain.part for gain in by(CHARACTERS, "x", "y")]
    assert sum(parts) == pytest.approx(mean("y", TARGETS) - mean("x", TARGETS))
    assert parts == sorted(parts)


def test_the_foremost_are_the_ends_of_the_list_without_those_that_are_a_kind() -> None:
    names = [gain.name for gain in by_character(CHARACTERS, "x", "y") if gain.name != " "]
    parts = {gain.name: gain.part for gain in by_character(CHARACTERS, "x", "y")}
    found = [gain.name for gain in foremost(CHARACTERS, "x", "y", most=1, least=1)]
    assert found == [names[0], names[-1]]
    assert parts[found[0]] < 0 < parts[found[1]]
    assert {gain.name: gain.part for gain in foremost(CHARACTERS, "x", "y")}.items() <= parts.items()


def test_nothing_is_lost_where_nothing_changed() -> None:
    same = [Character(c.character, c.kind, c.count, {"x": 2.0, "y": 2.0}) for c in CHARACTERS]
    assert foremost(same, "x", "y") == []
    assert all(gain.part == 0 for gain in by_kind(same, "x", "y"))
