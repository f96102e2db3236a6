"""How text of any kind is shown where it must not be invisible, break the line, or end what it stands in."""

import json
import unicodedata

from pydantic import JsonValue

_NAMES = {"\n": "newline", " ": "space", "\t": "tab", "\r": "carriage return"}
_SIGNS = {"\n": "↵", " ": "␣", "\t": "⇥"}
_UNSEEN = "□"
_CONTROL_PICTURES = (
    {c: chr(0x2400 + c) for c in range(0x20) if chr(c) not in "\t\n"}
    | {0x7F: "\u2421"}
    # Unicode has no pictures of these, and they steer a terminal too: U+009B is ESC and [ in one.
    | dict.fromkeys(range(0x80, 0xA0), _UNSEEN)
)


def name(character: str) -> str:
    """Return the character, or a word for one that cannot be seen by itself."""
    return _NAMES.get(character) or (character if _is_visible(character) else f"U+{ord(character):04X}")


def sign(character: str) -> str:
    """Return the character, or another one for one that cannot be seen by itself."""
    return _SIGNS.get(character) or (character if _is_visible(character) else _UNSEEN)


def as_json(value: JsonValue) -> str:
    """Return the value as JSON in one line, in which what cannot be printed is escaped: a text stands in quotes."""
    line = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def without_controls(text: str) -> str:
    """Return the text with its lines and tabs as they are, and other control characters as Unicode's pictures or a box.

    A NUL would make the report a binary file to Git, and a carriage return would be changed by a checkout.
    """
    return text.translate(_CONTROL_PICTURES)


def _is_visible(character: str) -> bool:
    return character.isprintable() and not character.isspace() and not unicodedata.combining(character)
