"""The report as Markdown and as HTML: one text, with the marks of the one or of the other."""

import base64
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from charlm import characters, paths
from charlm.palette import Style
from charlm.report.content import Content

_TEMPLATES = Path(__file__).parent.parent / "templates"
_PARTS = ("answer.j2", "results.j2", "reasons.j2", "making.j2")
_MARKDOWN_MARKS, _HTML_MARKS = "marks.md.j2", "marks.html.j2"
_PAGE, _STYLE = "report.html.j2", "report.css"
_TITLE = "charlm: how much does it help to look back?"
_BLOCK = "\x1e"  # begins a block of Markdown; no text that is shown holds this character
_NONE = "–"  # where there is no number

# The markers of the pictures, drawn in a box of 10 by 10.
_OUTLINES = {
    "o": "M5 1a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
    "s": "M1 1h8v8H1z",
    "^": "M5 1l4.5 8h-9z",
    "D": "M5 0l5 5-5 5-5-5z",
    "v": "M5 9L.5 1h9z",
    "P": "M3.5 0h3v3.5H10v3H6.5V10h-3V6.5H0v-3h3.5z",
    "X": "M2 0l3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3z",
}


def markdown(what: Content, pictures: Mapping[str, bytes]) -> str:
    """Return the report as Markdown, which shows the pictures from their files."""
    environment = _environment(autoescape=False)
    environment.globals["block"] = _BLOCK
    environment.filters |= {"ticked": ticked, "fence": fence, "escaped": escaped, "cell": cell}
    addresses = {name: paths.figure(name).relative_to(paths.REPORT.parent).as_posix() for name in pictures}
    _, *blocks = _body(environment, _MARKDOWN_MARKS, what, addresses).split(_BLOCK)
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def html(what: Content, pictures: Mapping[str, bytes]) -> str:
    """Return the report as one HTML file that holds its pictures and its style."""
    environment = _environment(autoescape=True)
    environment.filters |= {"outline": _outline}
    addresses = {name: f"data:image/png;base64,{base64.b64encode(png).decode()}" for name, png in pictures.items()}
    body = _body(environment, _HTML_MARKS, what, addresses)
    style = (_TEMPLATES / _STYLE).read_text(encoding="utf-8")
    return environment.get_template(_PAGE).render(title=_TITLE, body=Markup(body), style=Markup(style))  # noqa: S704 (ours, escaped)


@cache
def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=autoescape,  # noqa: S701 (Markdown: what is not ours is code or escaped)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shared = {"number": number, "signed": signed, "percent": percent, "whole": whole, "counted": counted, "line": line}
    environment.filters |= shared | {
        "name": characters.name,
        "as_json": characters.as_json,
        "without_controls": characters.without_controls,
    }
    return environment


def _body(environment: Environment, marks: str, what: Content, addresses: Mapping[str, str]) -> str:
    mark: Any = environment.get_template(marks).module
    context = vars(what) | {
        "mark": mark,
        "model": lambda name: mark.model(name, what.styles[name]),
        "pictures": addresses,
    }
    return "".join(environment.get_template(part).render(context) for part in _PARTS)


def number(value: float | None, digits: int = 4) -> str:
    """Return the number with so many decimals, or a dash for none."""
    return _NONE if value is None else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 4) -> str:
    """Return the number with so many decimals and its sign, or a dash for none."""
    return _NONE if value is None else f"{value:+.{digits}f}".replace("-", "−")


def percent(value: float | None, digits: int = 1) -> str:
    """Return a fraction as a percentage, or a dash for none."""
    return _NONE if value is None else f"{value:.{digits}%}"


def whole(value: int | None) -> str:
    """Return the integer with its thousands apart, or a dash for none."""
    return _NONE if value is None else f"{value:,}"


def counted(value: int, thing: str) -> str:
    """Return how many things there are: "1 step", "5,000 steps"."""
    return f"{whole(value)} {thing}{'' if value == 1 else 's'}"


def line(text: str) -> str:
    """Return the lines of a paragraph as one, without the blanks that a template leaves."""
    parts = (part.strip() for part in text.split("\n"))
    return text.__class__(" ").join(part for part in parts if part)  # markup stays markup


def ticked(text: str) -> str:
    """Return the text as code within a line of Markdown."""
    ticks = "`" * (_longest_run_of_backticks(text) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def fence(text: str, language: str) -> str:
    """Return the text as a block of Markdown code that nothing in it can end."""
    ticks = "`" * max(3, _longest_run_of_backticks(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def escaped(text: str) -> str:
    """Return the text so that Markdown shows it as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def cell(text: str) -> str:
    """Return a line of Markdown so that it can stand in a table."""
    return text.replace("|", r"\|")


def _longest_run_of_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _outline(style: Style) -> str:
    return _OUTLINES[style.marker]
