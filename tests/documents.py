"""What stands in the documents, section by section."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

import stages  # noqa: F401  # puts src/ on the path, for when this is run as a program

ROOT = Path(__file__).resolve().parent.parent

NUMBER = re.compile(r"(?<![A-Za-z\d.-])−?\d+(?:,\d{3})*(?:\.\d+)*(?:\s?%)?")
YEAR = re.compile(r"(19|20)\d\d")


@dataclass
class Section:
    """What is found between two headings."""

    title: str
    level: int
    numbers: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)  # between backticks, and the formulas between dollars
    blocks: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    linked_code: list[tuple[str, str]] = field(default_factory=list)  # text and target
    python: list[str] = field(default_factory=list)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def sections(page: str) -> list[Section]:
    """Return what a page holds, by heading; the first section is what stands before any."""
    found = [Section("", 0)]
    tokens = MarkdownIt("commonmark").enable("table").parse(with_formulas_as_code(read(page)))
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            found.append(Section(tokens[i + 1].content, int(token.tag[1])))
        elif token.type == "fence":
            found[-1].blocks.append(essence(token.info, token.content))
            if token.info == "python":
                found[-1].python.append(token.content)
        elif token.type == "inline":
            _take_in(found[-1], token.children or [])
    return found


def _take_in(section: Section, children: list[Token]) -> None:
    target = None
    for token, following in zip(children, [*children, None][1:], strict=True):
        if token.type in ("text", "image"):
            numbers = list(NUMBER.finditer(token.content))
            section.numbers += [number[0].replace(" ", "") for number in numbers]
            if following and following.type == "html_inline" and numbers and numbers[-1].end() == len(token.content):
                numbers.pop()
            section.unmarked += [number[0] for number in numbers if not YEAR.fullmatch(number[0])]
        if token.type == "image":
            section.pictures.append(str(token.attrs["src"]))
        elif token.type == "link_open":
            target = unquote(str(token.attrs["href"]))
            section.links.append(target)
        elif token.type == "link_close":
            target = None
        elif token.type == "code_inline":
            section.code.append(token.content)
            if target:
                section.linked_code.append((token.content, target))


def split_code(text: str) -> list[str]:
    """Return text, code, text, ...: code is what is fenced or between backticks."""
    return re.split(r"(^```.*?^```$|`[^`]+`)", text, flags=re.DOTALL | re.MULTILINE)


def with_formulas_as_code(text: str) -> str:
    """Put $x$ between backticks: what is within is no Markdown."""
    parts = split_code(text)
    parts[::2] = [re.sub(r"\$[^$\n]+\$", r"`\g<0>`", part) for part in parts[::2]]
    return "".join(parts)


def essence(language: str, block: str) -> str:
    """Return what a block of code must have in common with the other edition's: comments are translated.

    A block in no language is a drawing in words, of which the files' and folders' names are compared.
    """
    if language == "sh":
        return "\n".join(re.sub(r"(^|\s+)#.*", "", line) for line in block.splitlines())
    if not language:
        names = (name.rstrip(".") for name in re.findall(r"[A-Za-z0-9_./-]*[./][A-Za-z0-9_./-]*", block))
        return " ".join(name for name in names if "." in name or "/" in name)
    return block
