"""The report: each number is the one in the metrics, the verdict follows from them, sample text stays in its fence."""

import copy
import json
import math
import re
from typing import Any

import pytest

from charlm import paths, report
from charlm.results import Metrics, Samples
from tests.examples import METRICS, SAMPLES, TRAINED


def render(metrics: dict[str, Any] = METRICS, samples: dict[str, Any] = SAMPLES) -> str:
    return report.markdown(
        report.content(
            Metrics.model_validate_json(json.dumps(metrics)),
            Samples.model_validate_json(json.dumps(samples)),
        )
    )


def with_difference(val_loss: float, sd: float | None, seeds: int = 5) -> dict[str, Any]:
    metrics = copy.deepcopy(METRICS)
    metrics["difference"] |= {"val_loss": val_loss, "val_loss_sd": sd, "val_bits": round(val_loss / math.log(2), 4)}
    return metrics | {"seeds": seeds}


def one_seed() -> dict[str, Any]:
    metrics = with_difference(-0.0912, None, seeds=1)
    for model in metrics["models"].values():
        model |= {key: None for key in model if key.endswith("_sd")}
    return metrics


def rows(text: str) -> dict[str, list[str]]:
    """Label -> the other cells of the table of results."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert all(len(cells) == 7 for cells in table)
    return {cells[0]: cells[1:] for cells in table[2:]}


def fenced(text: str) -> tuple[str, list[str]]:
    """Split Markdown by CommonMark's rule for fences into what is outside and the blocks."""
    outside: list[str] = []
    blocks: list[list[str]] = []
    opening = ""
    for line in text.split("\n"):
        mark = re.match("`{3,}", line)
        if opening:
            if mark and len(mark[0]) >= len(opening) and not line[mark.end() :].strip():
                opening = ""
            else:
                blocks[-1].append(line)
        elif mark and "`" not in line[mark.end() :]:
            opening = mark[0]
            blocks.append([])
        else:
            outside.append(line)
    assert not opening
    return "\n".join(outside), ["\n".join(block) for block in blocks]


class TestNumbers:
    def test_each_trained_model_has_its_own(self) -> None:
        found = rows(render())
        for name, model in METRICS["models"].items():
            parameters, train, val, bits, perplexity, accuracy = found[f"`{name}`"]
            assert int(parameters.replace(",", "")) == model["parameters"]
            assert float(train) == model["train_loss"]
            assert [float(part) for part in val.split(" ± ")] == [model["val_loss"], model["val_loss_sd"]]
            assert float(bits) == model["val_bits"]
            assert float(perplexity) == round(model["val_perplexity"], 2)
            assert float(accuracy.rstrip("%")) == round(100 * model["val_accuracy"], 1)

    def test_each_closed_form_row_has_its_own_and_a_dash_for_the_others(self) -> None:
        found = list(rows(render()).values())[2:]
        assert len(found) == len(METRICS["counts"])
        for cells, model in zip(found, METRICS["counts"].values(), strict=True):
            assert cells[0] == cells[5] == "–"
            assert float(cells[1]) == model["train_loss"]
            if "val_loss" in model:
                assert float(cells[2]) == model["val_loss"]
                assert float(cells[3]) == pytest.approx(model["val_loss"] / math.log(2), abs=5e-5)
                assert float(cells[4]) == pytest.approx(math.exp(model["val_loss"]), abs=5e-3)
            else:
                assert cells[2:5] == ["–", "–", "–"]

    def test_no_number_is_the_templates_own(self) -> None:
        """Where every number of the input is another, every number of the report is another."""

        def other(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: other(part) for key, part in value.items()}
            if isinstance(value, list):
                return [other(part) for part in value]
            if isinstance(value, str):
                return value
            return value + 1 if isinstance(value, int) else value + 0.1234

        def in_prose(text: str) -> set[str]:
            return set(re.findall(r"\d[\d.,]*\d|\d{2,}", fenced(text)[0]))

        text = render(other(METRICS), other(SAMPLES))
        assert in_prose(render()) & in_prose(text) == set()
        assert "with sd 0.1335 over 6 seeds: no more" in text
        assert "over 6 seeds, ±" in text
        assert "1,003,854 characters of train text and\n111,540 of validation text" in text
        assert "401 characters" in text
        assert "with seed 2," in text

    def test_levels_of_the_picture(self) -> None:
        found = report.levels(Metrics.model_validate_json(json.dumps(METRICS)))
        assert list(found.values()) == [4.1744, 3.3473, 2.4819, 2.4519]


class TestVerdict:
    def test_a_clear_improvement_is_called_one(self) -> None:
        text = render()
        assert (
            "**`attention` has a lower validation loss than `bigram`, by 0.0912 nats (0.1316 bits) per character**\n"
            "(sd 0.0101 over 5 seeds, so more than 2 standard errors)."
        ) in text
        assert "No difference" not in text

    def test_a_clear_worsening_is_called_one(self) -> None:
        text = render(with_difference(0.0912, 0.0101))
        assert "has a higher validation loss than `bigram`, by 0.0912 nats" in text
        assert "lower validation loss" not in text

    # Two standard errors of sd 0.01 over 4 seeds are 0.01.
    @pytest.mark.parametrize(
        ("difference", "claimed"), [(-0.0101, True), (-0.0099, False), (0.0, False), (0.0099, False)]
    )
    def test_the_limit_is_two_standard_errors(self, difference: float, claimed: bool) -> None:
        text = render(with_difference(difference, 0.01, seeds=4))
        assert ("has a lower validation loss" in text) is claimed
        assert ("No difference shown between `attention` and `bigram`" in text) is not claimed

    def test_no_spread_and_no_difference_is_no_difference(self) -> None:
        assert "No difference shown" in render(with_difference(0.0, 0.0))

    def test_one_seed_claims_nothing_and_shows_no_spread(self) -> None:
        text = render(one_seed())
        assert "No difference shown: one seed, no spread." in text
        assert "0.0912 nats (0.1316 bits) per character\nbelow" in text
        assert "±" not in text
        assert "has a lower validation loss" not in text
        assert rows(text)["`bigram`"][2] == "2.4862"

    def test_the_second_model_is_compared_with_the_first(self) -> None:
        metrics = METRICS | {"models": dict(reversed(TRAINED.items())), "difference": METRICS["difference"] | {"x": 1}}
        assert "**`bigram` has a lower validation loss than `attention`" in render(metrics)

    @pytest.mark.parametrize("difference", [None, METRICS["difference"]])
    def test_one_model_is_compared_with_none(self, difference: dict[str, float] | None) -> None:
        text = render(METRICS | {"models": {"bigram": TRAINED["bigram"]}, "difference": difference})
        assert "Only `bigram` was trained" in text
        assert "`attention`" not in text.split("## In their own words")[0]

    def test_a_third_model_has_its_row(self) -> None:
        metrics = METRICS | {"models": TRAINED | {"third": TRAINED["bigram"] | {"val_loss": 2.1}}}
        assert rows(render(metrics))["`third`"][2] == "2.1000 ± 0.0013"


HOSTILE = [
    "```\n# Heading\n````\n|a|b|\n```text",
    "`````````",
    "<script>alert(1)</script> <!-- &amp; {{ 7 * 7 }} {% raw %}",
    "~~~\n---\n[x]: y",
    "",
    "\n\n\n",
    "ends in a tick `",
    "\u2028 \u202e \ufeff é 漢字 🙂",
]


class TestSamples:
    @pytest.mark.parametrize("hostile", HOSTILE)
    def test_hostile_text_stays_inside_its_fence(self, hostile: str) -> None:
        texts = [{"model": "bigram", "temperature": 1.0, "text": hostile}, SAMPLES["texts"][1]]
        outside, blocks = fenced(render(samples=SAMPLES | {"texts": texts}))
        harmless_outside, harmless_blocks = fenced(render())
        assert blocks == [hostile, *harmless_blocks[1:]]
        assert outside == harmless_outside

    def test_control_characters_become_pictures(self) -> None:
        texts = [{"model": "bigram", "temperature": 1.0, "text": "a\x00b\rc\x1b[0m\td\x7f"}]
        text = render(samples=SAMPLES | {"texts": texts})
        assert fenced(text)[1][0] == "a␀b␍c␛[0m\td␡"
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)

    @pytest.mark.parametrize(
        ("prompt", "shown"), [("\n", r'`"\n"`'), ("", '`""`'), ("a`b``c|<b>", '``` "a`b``c|<b>" ```'), ('"', r'`"\""`')]
    )
    def test_the_prompt_is_code_in_one_line(self, prompt: str, shown: str) -> None:
        assert f"after the prompt {shown}:" in render(samples=SAMPLES | {"prompt": prompt})

    def test_each_text_has_its_model_and_temperature(self) -> None:
        text = render()
        assert "`bigram` at temperature 1.0:\n\n```text\nThe th\n```\n" in text
        assert "`attention` at temperature 0.8:\n\n```text\nKING\n```\n" in text


def test_the_picture_lies_where_the_report_looks_for_it() -> None:
    address = re.search(r"!\[(.+)\]\((.+)\)", render())
    assert address is not None
    assert paths.REPORT.parent / address[2] == paths.LOSS_CURVES
    assert "bigram 2.4862, attention 2.3950" in address[1]


def test_the_layout_of_the_markdown_is_tidy() -> None:
    text = render()
    assert text.endswith("\n```\n")
    assert "\n\n\n" not in text
    assert not re.search(r"[ \t]$", text, flags=re.MULTILINE)
    assert len(re.findall(r"(?<=\n\n)## .+\n\n", text)) == 3
    assert re.search(r"[^\n]\n\n\| model \|.*\n\|:--\|", text)
