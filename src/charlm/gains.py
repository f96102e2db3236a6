"""Where the difference between two models comes from: which characters, and which kinds of character."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from charlm.details import Character


@dataclass(frozen=True)
class Gain:
    """What one character, or all of one kind, has to do with the difference between two models.

    Attributes:
        name: the character or the kind.
        share: the part of the validation text that it makes up.
        baseline: the baseline's mean loss where it stands, in nats.
        model: the other model's.
        part: how much it adds to the difference of the mean losses; the parts of all sum to that difference.
    """

    name: str
    share: float
    baseline: float
    model: float

    @property
    def change(self) -> float:
        return self.model - self.baseline

    @property
    def part(self) -> float:
        return self.share * self.change


def by_character(characters: Sequence[Character], baseline: str, model: str) -> list[Gain]:
    """Return the gain of each character, the largest fall of the loss first."""
    return _gains(characters, baseline, model, lambda character: character.character)


def by_kind(characters: Sequence[Character], baseline: str, model: str) -> list[Gain]:
    """Return the gain of each kind of character, the largest fall of the loss first."""
    return _gains(characters, baseline, model, lambda character: character.kind)


def foremost(characters: Sequence[Character], baseline: str, model: str, most: int = 6, least: int = 3) -> list[Gain]:
    """Return the characters that bring the model most, then those that cost it most, as far as there are any.

    A character that is alone in its kind, such as the space, is left out: `by_kind` tells of it.
    """
    kinds = Counter(character.kind for character in characters)
    alone = {character.character for character in characters if kinds[character.kind] == 1}
    gains = [gain for gain in by_character(characters, baseline, model) if gain.name not in alone]
    return [gain for gain in gains if gain.part < 0][:most] + [gain for gain in gains if gain.part > 0][-least:]


def _gains(characters: Sequence[Character], baseline: str, model: str, key: Callable[[Character], str]) -> list[Gain]:
    total = sum(character.count for character in characters)

    def gain(name: str, members: Sequence[Character]) -> Gain:
        count = sum(member.count for member in members)
        mean = {
            which: sum(member.count * member.losses[which] for member in members) / count for which in (baseline, model)
        }
        return Gain(name, count / total, mean[baseline], mean[model])

    grouped = itertools.groupby(sorted(characters, key=key), key)
    return sorted((gain(name, list(members)) for name, members in grouped), key=lambda found: (found.part, found.name))
