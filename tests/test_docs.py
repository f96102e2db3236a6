"""The documents say what is so, and in both languages the same."""

import ast
import doctest
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import stages  # noqa: F401  # puts src/ on the path, for when this is run as a program
from charlm import paths
from charlm.details import read_positions
from tests.documents import ROOT, read, sections, split_code
from tools.numbers import MARKED, PAGES, refreshed, shown, value, values

WALKS = ("docs/walkthrough.md", "docs/walkthrough.zh.md")
EDITIONS = (("README.md", "README.zh.md"), WALKS)
TRANSLATED = tuple(page for pair in EDITIONS for page in pair)


@pytest.mark.parametrize("page", PAGES)
def test_every_marked_number_is_the_results(page: str) -> None:
    wrong = [
        f"{page}:{line_number}: {mark['number']} should be {right} ({mark['name']})"
        for line_number, line in enumerate(read(page).splitlines(), start=1)
        for mark in MARKED.finditer(line)
        if mark["number"] != (right := shown(value(mark["name"]), mark["number"]))
    ]
    assert not wrong, "\n".join([*wrong, "`make numbers` writes them anew"])


@pytest.mark.parametrize("page", WALKS)
def test_every_number_is_marked(page: str) -> None:
    assert [(section.title, section.unmarked) for section in sections(page) if section.unmarked] == []
    comments = len(re.findall("<!--", read(page)))
    assert comments == len(MARKED.findall(read(page))), "a comment here is a number's mark and stands right behind it"


@pytest.mark.parametrize(
    ("number", "like", "right"),
    [
        (-0.08838, "0.1", "−0.1"),
        (2.48470, "2.0000", "2.4847"),
        (0.30499, "1.0%", "30.5%"),
        (5000, "1", "5,000"),
        (1.0, "2", "1"),
    ],
)
def test_a_number_is_shown_like_the_one_that_stands_there(number: float, like: str, right: str) -> None:
    assert shown(number, like) == right


def test_writing_anew_mends_a_number_and_nothing_else() -> None:
    text = "**9.99<!--perplexity of counts.uniform.val_loss-->** nats, 9 and 7<!--seeds-->."
    assert refreshed(text).replace("65.00", "9.99") == text.replace("7<!", f"{value('seeds')}<!")


def test_what_is_said_in_words_is_so() -> None:
    """The claims that the walks make without a number; where one fails, mend both."""
    v = values()
    places = {model: read_positions(ROOT / paths.POSITIONS)[model].tolist() for model in ("bigram", "attention")}
    worse = [a > b for a, b in zip(places["attention"], places["bigram"], strict=True)]
    claims = {
        "the head is better": v["models.attention.val_loss"] < v["models.bigram.val_loss"],
        "both intervals leave out zero": v["difference.seeds_high"] < 0 > v["difference.text_high"],
        "it is worse than the table at the first place and at no other": worse == [True] + [False] * (len(worse) - 1),
        "the table starts above uniform": v["curves.bigram.first"] > v["counts.uniform.val_loss"],
        "the head starts nearly uniform": abs(v["curves.attention.first"] - v["counts.uniform.val_loss"]) < 0.1,
        "the best table on train is infinitely bad on validation": "counts.bigram_ml.val_loss" not in v,
        "the trained table ends next to nothing above its floor": 0 < v["floor.bigram_train_gap"] < 0.01,
        "the spread is less than a tenth of the difference": v["difference.val_loss_sd"]
        < -v["difference.val_loss"] / 10,
        "the space brings most": v["gains.space.part"] == min(v[name] for name in v if name.endswith(".part")),
        "the nearer, the more weight": v["distance.0"] > v["distance.1"] > v["distance.2"],
        "counts of two characters beat the head, those of one do not": v["counts.kneser_ney_2.val_loss_full"]
        < v["models.attention.val_loss_full"]
        < v["counts.kneser_ney_1.val_loss_full"],
        "a tenth of the products": 8 < v["rows.batch"] / v["rows.tables"] < 12,
        "`h` is likelier after `t` than a space": v["sampling.ratio.1"] > 1,
    }
    assert [claim for claim, holds in claims.items() if not holds] == []


@pytest.mark.parametrize("page", TRANSLATED)
def test_every_link_leads_somewhere(page: str) -> None:
    broken = []
    for target in (target for section in sections(page) for target in section.links + section.pictures):
        if re.match(r"https?:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (ROOT / page).parent / place if place else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def anchors(file: Path) -> set[str]:
    """Return how GitHub names the headings of a page."""
    headings = re.findall(r"^#+ (.*)", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WALKS)
def test_every_function_that_is_named_is_linked_and_there(page: str) -> None:
    linked = [pair for section in sections(page) for pair in section.linked_code]
    assert linked
    missing = [
        text
        for text, target in linked
        if text not in {f"{Path(target).stem}.{name}" for name in defined(((ROOT / page).parent / target).resolve())}
    ]
    assert missing == []
    code = {code for section in sections(page) for code in section.code if not code.startswith("$")}
    looks_like_a_name = {one for one in code if re.fullmatch(r"\w+(\.[A-Za-z_]\w*)+|[\w.-]*/[\w./-]*|\w+\(\)", one)}
    assert looks_like_a_name - {text for text, _ in linked} == set()


@pytest.mark.parametrize("page", WALKS)
def test_each_idea_has_its_equation_its_function_and_its_number_or_picture(page: str) -> None:
    ideas = read(page).split("\n## ")[1:]
    assert len(ideas) > 8
    for idea in ideas:
        title = idea.splitlines()[0]
        assert "```math\n" in idea, title
        assert re.search(r"\[`\w+\.[\w.]+`\]\(", idea), title
        assert MARKED.search(idea) or "![" in idea, title


@cache
def defined(file: Path) -> set[str]:
    """Return the functions and classes that a module defines, and the methods, as Class.method."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return names


def test_the_examples_give_what_stands_there() -> None:
    examples = "\n".join(block for section in sections(WALKS[0]) for block in section.python)
    test = doctest.DocTestParser().get_doctest(examples, {}, WALKS[0], WALKS[0], 0)
    assert test.examples
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("page", TRANSLATED)
def test_markdown_is_what_github_understands(page: str) -> None:
    """A formula begins after white space and ends before white space or a stop; no line begins as HTML."""
    for text in split_code(read(page))[::2]:
        for formula in re.finditer(r"\$[^$\n]+\$", text):
            assert re.search(r"(^|\s)$", text[: formula.start()]), formula[0]
            assert re.match(r"$|[\s.,;:!?)|*-]", text[formula.end() :]), formula[0]
    assert [line for line in read(page).splitlines() if re.match(r"\s*<", line)] == []


@pytest.mark.parametrize(("english", "chinese"), EDITIONS)
def test_both_editions_have_the_same_headings(english: str, chinese: str) -> None:
    levels = [[section.level for section in sections(page)] for page in (english, chinese)]
    titles = " / ".join(section.title for section in sections(english))
    assert levels[0] == levels[1], f"the headings of {english} are: {titles}"


@pytest.mark.parametrize("part", ["numbers", "code", "blocks", "links", "pictures"])
@pytest.mark.parametrize(("english", "chinese"), EDITIONS)
def test_both_editions_hold_the_same(english: str, chinese: str, part: str) -> None:
    """Section by section, in whatever order the language wants; a link may lead to the Chinese edition of a page."""
    complaints = []
    for one, other in zip(sections(english), sections(chinese), strict=False):  # the test above counts them
        wanted, found = (Counter(same_page(item) for item in getattr(section, part)) for section in (one, other))
        if wanted != found:
            complaints.append(
                f"{chinese}, {other.title!r} ({one.title!r}): "
                f"lacks {sorted((wanted - found).elements())}, has beyond it {sorted((found - wanted).elements())}"
            )
    assert not complaints, "\n".join(complaints)


def same_page(item: str) -> str:
    return re.sub(r"(\w+)\.zh\.md(#.*)?$", r"\1.md", re.sub(r"\.md#.*$", ".md", item))
