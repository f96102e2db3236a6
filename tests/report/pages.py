"""What a reader of a rendering sees: its text, its tables and its blocks of code."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

# What ends a word without a blank in the source.
_APART = {"p", "td", "th", "br", "li", "h1", "h2", "h3", "pre", "tr", "div", "img"}
_HEADINGS = {"h1", "h2", "h3"}
_UNSEEN = {"head", "style", "svg"}


@dataclass
class Page:
    """What stands on the page."""

    text: str = ""  # all of it in reading order, pictures by what they show, with single blanks
    headings: list[str] = field(default_factory=list)  # each after its tag: "h1 How much"
    tables: list[list[list[str]]] = field(default_factory=list)  # rows of cells
    blocks: list[str] = field(default_factory=list)  # of code
    codes: list[str] = field(default_factory=list)  # within lines
    pictures: list[tuple[str, str]] = field(default_factory=list)  # address and alternative text
    tags: set[str] = field(default_factory=set)

    @property
    def numbers(self) -> list[str]:
        """The numbers of the text as they are written, minus signs made plain; "SHA-256" and "2.13.0" are names."""
        return re.findall(r"(?<![\w.-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?%?(?!\w|\.\d)", self.text.replace("−", "-"))


def read_html(html: str) -> Page:
    """Read an HTML file."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.page.text = " ".join("".join(reader.pieces).split())
    return reader.page


def read_markdown(markdown: str) -> Page:
    """Read Markdown as a Git host shows it: CommonMark with tables."""
    return read_html(MarkdownIt("commonmark").enable("table").render(markdown))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.pieces: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.add(tag)
        if tag in _APART:
            self.pieces.append(" ")
        if tag == "img":
            attributes = dict(attrs)
            alternative = attributes["alt"] or ""
            self.page.pictures.append((attributes["src"] or "", alternative))
            self.pieces.append(f" {alternative} ")
        elif tag == "table":
            self.page.tables.append([])
        elif tag in _HEADINGS:
            self.page.headings.append(f"{tag} ")
        elif tag == "tr":
            self.page.tables[-1].append([])
        elif tag in ("td", "th"):
            self.page.tables[-1][-1].append("")
        elif tag == "pre":
            self.page.blocks.append("")
        elif tag == "code" and "pre" not in self._open:
            self.page.codes.append("")
        if tag not in ("img", "br", "meta", "link", "path"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag in _APART:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if _UNSEEN & set(self._open):
            return
        self.pieces.append(data)
        if _HEADINGS & set(self._open):
            self.page.headings[-1] += data
        if "pre" in self._open:
            # A browser leaves out a line end that comes first.
            self.page.blocks[-1] += data[1:] if self._open[-1] == "pre" and data[:1] == "\n" else data
        elif "code" in self._open:
            self.page.codes[-1] += data
        if "td" in self._open or "th" in self._open:
            self.page.tables[-1][-1][-1] += data
