"""Both renderings: one text, tidy, and no text from outside that could become markup."""

import copy
import re
from typing import Any

import pytest

from charlm import paths
from charlm.report.rendering import escaped
from tests.examples import ATTENTION, CHARACTERS, METRICS, PAIRS, PROVENANCE, SAMPLES, TRAINED, one_model, one_seed
from tests.report.conftest import PICTURES, Render
from tests.report.pages import read_markdown

HOSTILE = [
    "```\n# Heading\n````\n|a|b|\n```text",
    "`````````",
    "</pre></code></td><script>alert(1)</script> <!-- &amp; {{ 7 * 7 }} {% raw %}",
    "\"><img src=x onerror=alert(1)> '",
    "~~~\n---\n[x]: y",
    "ends in a tick `",
    "\u202e é 漢字 🙂 \\ $x$ *a* _b_",
]


def without_controls(text: str) -> str:
    return text.replace("\x00", "␀").replace("\r", "␍").replace("\x1e", "␞")


class TestOneText:
    @pytest.mark.parametrize(
        "changed",
        [
            {},
            {"metrics": one_seed()},
            {"metrics": one_model()},
            {"metrics": one_model("attention"), "pairs": []},
            {"attention": {}},
            {"metrics": {key: METRICS[key] for key in METRICS if key != "floor"}},
            {"metrics": METRICS | {"counts": {"uniform": {"train_loss": 1.5, "val_loss": 1.5}}}},
        ],
        ids=["all", "one seed", "one model", "only attention", "no attention", "no floor", "no counts"],
    )
    def test_both_renderings_say_the_same(self, render: Render, changed: dict[str, Any]) -> None:
        markdown, html = render(**changed).pages
        assert html.text == markdown.text
        assert html.numbers == markdown.numbers
        assert len(html.numbers) > 50
        assert [row[0] for table in html.tables for row in table] == [
            row[0] for table in markdown.tables for row in table
        ]

    def test_what_is_missing_leaves_no_trace(self, render: Render) -> None:
        whole = render().markdown
        missing: dict[str, dict[str, Any]] = {
            "fair baseline": {"metrics": {key: METRICS[key] for key in METRICS if key != "floor"}},
            "The same last character": {"pairs": []},
            "Where the attention goes": {"attention": {}},
            "By kind of character": {"metrics": one_model()},
        }
        for trace, changed in missing.items():
            assert trace in whole
            assert trace not in render(**changed).markdown

    def test_a_third_model_has_its_place_everywhere(self, render: Render) -> None:
        losses = {"third": [2.3, 2.2]}
        characters = [(*rest, of | {"third": 1.25}) for *rest, of in CHARACTERS]
        pairs = [
            pair
            | {"predictions": pair["predictions"] | {"third": pair["predictions"]["bigram"]}}
            | {"distance": pair["distance"] | {"third": 0.5}}
            for pair in PAIRS
        ]
        report = render(
            metrics=METRICS | {"models": TRAINED | {"third": TRAINED["bigram"] | {"val_loss": 2.1111}}},
            positions={model: [2.6, 2.5] for model in TRAINED} | losses,
            characters=characters,
            pairs=pairs,
        )
        for page in report.pages:
            assert ["third", "2.1111 ± 0.0013"] in [row[:2] for row in page.tables[0]]
            assert "from 2.300 to 2.200 for third" in page.text.replace(" .", ".")
            assert "third 2.1111." in page.pictures[0][1]


class TestOrder:
    def test_goes_from_the_answer_by_the_numbers_and_their_reasons_to_how_it_was_made(self, render: Render) -> None:
        for page in render().pages:
            assert page.headings == [
                "h1 How much does it help a character language model to look back?",
                "h2 Results",
                "h3 Measured against counting",
                "h2 Why: what looking back is good for",
                "h3 By place in the window",
                "h3 By kind of character",
                "h3 The same last character, another text before it",
                "h3 Where the attention goes",
                "h2 In their own words",
                "h3 Temperature 0.5",
                "h3 Temperature 1.0",
                "h2 How this was made",
                "h2 What this does not show",
            ]

    def test_begins_with_the_question_the_answer_and_the_curves(self, render: Render) -> None:
        for page in render().pages:
            beginning, _, rest = page.text.partition(" Results ")
            places = [beginning.index(part) for part in ("How much", "has a lower validation", page.pictures[0][1])]
            assert places == sorted(places)
            assert page.pictures[0][1].startswith("Loss by training step.")
            assert rest.startswith("model validation loss"), "the table comes first"


class TestMarkdown:
    def test_is_tidy(self, render: Render) -> None:
        text = render().markdown
        outside, _ = _split(text)
        assert text.startswith("# How much does it help")
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "\n\n\n" not in outside
        assert not re.search(r"[ \t]$", outside, flags=re.MULTILINE)
        assert not re.search(r" [,.;:]|\( ", outside)
        assert "\x1e" not in text

    def test_shows_the_pictures_from_where_the_stage_puts_them(self, render: Render) -> None:
        page = render().markdown_page
        assert {paths.REPORT.parent / address for address, _ in page.pictures} == set(map(paths.figure, PICTURES))

    def test_escaped_text_is_shown_as_it_is(self) -> None:
        text = "".join(map(chr, range(0x20, 0x7F))).replace(" ", "")
        assert read_markdown(escaped(text)).text == text


class TestHtml:
    def test_holds_its_pictures(self, render: Render) -> None:
        page = render().html_page
        assert [address for address, _ in page.pictures] == ["data:image/png;base64,YSBwaWN0dXJl"] * len(PICTURES)

    def test_names_nothing_outside_of_it(self, render: Render) -> None:
        html = render().html
        assert re.findall(r"(?i)https?:|//\w|@import|<script|<link(?! rel=\"icon\" href=\"data:,\")|url\(", html) == []

    def test_each_picture_says_what_it_shows(self, render: Render) -> None:
        for page in render().pages:
            for _, alternative in page.pictures:
                assert len(alternative) > 40
                assert alternative.endswith(".")


class TestHostileText:
    @pytest.mark.parametrize("hostile", [*HOSTILE, "", "\n\n\n", "a\x00b\rc\x1ed\te"])
    def test_a_sample_stays_in_its_block(self, render: Render, hostile: str) -> None:
        samples = copy.deepcopy(SAMPLES)
        samples["texts"][0]["text"] = hostile
        harmless, found = render(), render(samples=samples)
        for page, expected in zip(found.pages, harmless.pages, strict=True):
            assert page.blocks[1:] == expected.blocks[1:]
            assert page.tables == expected.tables
            assert page.codes == expected.codes
            assert page.tags == expected.tags
        assert found.html_page.blocks[0] == without_controls(hostile)
        assert found.markdown_page.blocks[0] == without_controls(hostile) + "\n"  # CommonMark: ends with a line end
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", found.markdown + found.html)

    @pytest.mark.parametrize("hostile", HOSTILE)
    def test_a_prompt_a_context_and_a_parameter_stay_code(self, render: Render, hostile: str) -> None:
        pairs = copy.deepcopy(PAIRS)
        pairs[1] |= {"left": hostile[:30] + "t", "right": "t"}
        provenance = PROVENANCE | {"evaluate": {"prompt": hostile}}
        found = render(samples=SAMPLES | {"prompt": hostile}, pairs=pairs, provenance=provenance)
        harmless = render(provenance=PROVENANCE | {"evaluate": {"prompt": "x"}})
        for page, expected in zip(found.pages, harmless.pages, strict=True):
            assert page.tags == expected.tags
            assert len(page.codes) == len(expected.codes)
            assert [len(table) for table in page.tables] == [len(table) for table in expected.tables]
        assert found.html_page.codes == found.markdown_page.codes

    def test_any_character_can_be_a_prediction_and_a_gain(self, render: Render) -> None:
        odd = ["|", "`", "\\", "<", "&", "]", "*", "\n", " ", "\u202e", "\x00", "\u0301", "漢", '"', "'"]
        pairs = copy.deepcopy(PAIRS[1:])
        pairs[0]["predictions"]["attention"]["left"] = [[character, 0.01] for character in odd]
        characters = [(c, "other", 5 + i, {"bigram": 3.0, "attention": 2.0 + i % 2 * 3}) for i, c in enumerate(odd)]
        report = render(pairs=pairs, characters=characters)
        shown = ["|", "`", "\\", "<", "&", "]", "*", "newline", "space", "U+202E", "U+0000", "U+0301", "漢", '"', "'"]
        for page in report.pages:
            row = next(row for table in page.tables for row in table if row[0] == "attention" and "newline" in row[1])
            assert re.findall(r"(\S+) 1\.0%", row[1].replace("%", "% ")) == shown
            assert page.tags == render().pages[report.pages.index(page)].tags
        assert report.html_page.text == report.markdown_page.text

    def test_the_longest_contexts_are_cut_at_their_beginning(self, render: Render) -> None:
        pairs = [PAIRS[1] | {"left": "a" * 300 + "I"}]
        for page in render(pairs=pairs).pages:
            assert '"' + 39 * "a" + 'I"' in page.codes
            assert 41 * "a" not in page.text

    def test_the_heat_map_text_is_not_said(self, render: Render) -> None:
        attention = {"attention": ATTENTION["attention"] | {"text": "<b>&]"}}
        report = render(attention=attention)
        assert report.html_page.text == report.markdown_page.text == render().html_page.text


def _split(markdown: str) -> tuple[str, list[str]]:
    """Split Markdown by CommonMark's rule for fences into what is outside and the blocks."""
    outside: list[str] = []
    blocks: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        mark = re.match("`{3,}", line)
        if fence:
            blocks[-1] += line + "\n"
            fence = "" if mark and len(mark[0]) >= len(fence) and not line.strip("`") else fence
        elif mark:
            fence = mark[0]
            blocks.append(line)
            outside.append("<a block>")
        else:
            outside.append(line)
    assert not fence
    return "\n".join(outside), blocks
