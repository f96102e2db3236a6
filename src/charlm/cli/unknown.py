"""Characters that a vocabulary lacks: told apart, counted and named."""

from collections import Counter
from collections.abc import Mapping

_NAMED = 20  # in a message; a Chinese text has thousands that an English vocabulary lacks
_OFFERED = 200


def leave_out(text: str, known: frozenset[str]) -> tuple[str, Counter[str]]:
    """Return the text without the characters that are not known, and how often each of those was there."""
    unknown = set(text) - known
    if not unknown:
        return text, Counter()
    counts = Counter({character: text.count(character) for character in sorted(unknown)})
    return text.translate({ord(character): None for character in unknown}), counts


def named(counts: Mapping[str, int]) -> str:
    """Return the characters in a line, the most frequent first, as Python writes them, with their number."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{character!r}" + (f" ({count:,} times)" if count > 1 else "") for character, count in ordered[:_NAMED]]
    rest = len(ordered) - _NAMED
    return ", ".join(words) + (f" and {rest:,} others" if rest > 0 else "")


def offered(known: frozenset[str]) -> str:
    """Return what may be used instead, in a line."""
    return f"{''.join(sorted(known)[:_OFFERED])!r}" + (" and others" if len(known) > _OFFERED else "")
