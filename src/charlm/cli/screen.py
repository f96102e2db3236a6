"""What a person sees: colours and harmless characters on a terminal, plain text elsewhere, and columns."""

import json
import os
import re
import sys
import unicodedata
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from charlm.characters import without_controls

_GAP = " │ "


class Screen:
    """Standard output. To a file or a pipe text goes as it is, without colours."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._coloured = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def write(self, text: str, **style: Any) -> None:
        """Write the text at once, in the style of `click.style` where there are colours."""
        if not text:
            return
        if self.is_terminal:  # a text of the model's must not steer the terminal
            text = without_controls(text)
        sys.stdout.write(click.style(text, **style) if style and self._coloured else text)
        sys.stdout.flush()

    def line(self, text: str = "", **style: Any) -> None:
        """Write a line."""
        self.write(text, **style)
        self.write("\n")


def print_json(value: Any) -> None:
    """Write a JSON document, in which control characters are escaped: all of them, beyond those that must be."""
    document = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    print(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", document), flush=True)


def shown(path: Path) -> str:
    """Return a file's name as text in UTF-8, with other bytes as \\xe9: Python decodes names by the locale."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Columns:
    """Texts side by side that grow: a row is written as soon as every column has it whole."""

    def __init__(self, screen: Screen, titles: Sequence[str], width: int) -> None:
        """Write the titles; `width` is that of all columns together, in cells."""
        self._screen = screen
        self._width = max(1, (width - len(_GAP) * (len(titles) - 1)) // len(titles))
        self._rows: list[deque[str]] = [deque() for _ in titles]  # whole and not yet written
        self._open = [""] * len(titles)
        screen.line(_GAP.join(self._filled(title[: self._width]) for title in titles).rstrip(), bold=True)

    def add(self, column: int, text: str) -> None:
        """Add text to a column."""
        for character in without_controls(text.expandtabs(1).replace("\r", "")):
            full = cells(self._open[column]) + cells(character) > self._width
            if character == "\n" or full:
                self._rows[column].append(self._open[column])
                self._open[column] = ""
            if character != "\n":
                self._open[column] += character
        while all(self._rows):
            self._write_row()

    def finish(self) -> None:
        """Write what is left."""
        for rows, text in zip(self._rows, self._open, strict=True):
            if text:
                rows.append(text)
        while any(self._rows):
            self._write_row()

    def _write_row(self) -> None:
        parts = [rows.popleft() if rows else "" for rows in self._rows]
        self._screen.line(_GAP.join(self._filled(part) for part in parts).rstrip())

    def _filled(self, text: str) -> str:
        return text + " " * (self._width - cells(text))


def cells(text: str) -> int:
    """Return how many cells of a terminal the text takes: two for a wide character, none for a combining one."""
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
