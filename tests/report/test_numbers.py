"""Every number of the report is one of the results: none is written by hand, and none is another's."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from charlm import paths
from tests.examples import CHARACTERS, METRICS, PAIRS
from tests.report.allowed import OF_THE_REPORT, as_written, committed_results, other_results, what_may_stand_there
from tests.report.conftest import Render
from tests.report.pages import Page, read_html, read_markdown

ROOT = Path(__file__).resolve().parent.parent.parent


def strangers(pages: Sequence[Page], results: dict[str, Any]) -> list[str]:
    allowed = what_may_stand_there(results)
    return [text for page in pages for text in page.numbers if not as_written(text, allowed)]


@pytest.mark.parametrize("seed", range(6))
def test_every_number_comes_from_the_results(render: Render, seed: int) -> None:
    results = other_results(seed)
    report = render(**results)
    assert strangers(report.pages, results) == []
    for page in report.pages:
        assert len(page.numbers) > 150


def test_every_number_follows_the_results(render: Render) -> None:
    """With all results changed no number stays, but those of the report itself and those that count on from 0."""
    first, second = render(**other_results(0)), render(**other_results(3))
    for page, other in zip(first.pages, second.pages, strict=True):
        assert len(page.numbers) == len(other.numbers)
        stayed = {float(a.rstrip("%")) for a, b in zip(page.numbers, other.numbers, strict=True) if a == b}
        assert stayed <= OF_THE_REPORT | {2, 3, 4}


@pytest.mark.parametrize(
    "where",
    [
        ("metrics", "models", "attention", "val_loss"), ("metrics", "models", "bigram", "val_perplexity"),
        ("metrics", "models", "attention", "val_loss_full_sd"), ("metrics", "models", "attention", "parameters"),
        ("metrics", "difference", "seeds_low"), ("metrics", "difference", "text_high"),
        ("metrics", "difference", "val_bits"), ("metrics", "difference", "resamples"),
        ("metrics", "floor", "bigram_train_gap"), ("metrics", "counts", "kneser_ney_2", "val_loss_full"),
        ("metrics", "counts", "unigram", "val_loss"), ("metrics", "tokens", "val"), ("metrics", "block_size"),
        ("positions", "attention", 0), ("positions", "bigram", -1), ("characters", 3, 3, "attention"),
        ("pairs", 1, "distance", "attention"), ("pairs", 0, "predictions", "attention", "left", 1, 1),
        ("attention", "attention", "by_distance", 2), ("provenance", "corpus_characters"), ("samples", "length"),
    ],
    ids=lambda where: ".".join(map(str, where)),
)  # fmt: skip
def test_a_number_that_was_changed_in_the_results_is_missed(render: Render, where: tuple[Any, ...]) -> None:
    """The control: were the report to keep an older number, the test above would tell."""
    results = other_results(0)
    report = render(**results)
    part = results
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = part[where[-1]] * 3 + 1
    assert strangers(report.pages, results) != []


class TestTables:
    def test_trained_models(self, render: Render) -> None:
        for page in render().pages:
            check_trained_models(page, METRICS["models"])

    def test_closed_form_models(self, render: Render) -> None:
        for page in render().pages:
            rows = page.tables[0][1 + len(METRICS["models"]) :]
            assert len(rows) == len(METRICS["counts"])
            for cells, model in zip(rows, METRICS["counts"].values(), strict=True):
                loss = model.get("val_loss", math.nan)
                assert _value(cells[1]) == pytest.approx(loss, nan_ok=True)
                assert _value(cells[2]) == pytest.approx(model.get("val_loss_full", math.nan), nan_ok=True)
                assert _value(cells[3]) == pytest.approx(loss / math.log(2), abs=5e-5, nan_ok=True)
                assert _value(cells[4]) == pytest.approx(math.exp(loss), abs=5e-3, nan_ok=True)
                assert cells[5] == cells[7] == "–"
                assert _value(cells[6]) == pytest.approx(model.get("train_loss", math.nan), nan_ok=True)

    def test_the_parts_of_the_kinds_sum_to_the_difference_of_the_means(self, render: Render) -> None:
        total = sum(count for _, _, count, _ in CHARACTERS)
        mean = {m: sum(count * of[m] for _, _, count, of in CHARACTERS) / total for m in ("bigram", "attention")}
        for page in render().pages:
            rows = page.tables[1][1:]
            assert sum(_value(row[5]) for row in rows) == pytest.approx(mean["attention"] - mean["bigram"], abs=3e-4)
            assert sum(float(row[1].rstrip("%")) for row in rows) == pytest.approx(100, abs=0.3)

    def test_the_predictions_of_a_pair(self, render: Render) -> None:
        for page in render().pages:
            for table, pair in zip(page.tables[2:], PAIRS, strict=False):
                for model, distance in pair["distance"].items():
                    _, left, right, written = _row(table, model)
                    assert float(written) == round(distance, 3)
                    for cell, side in ((left, "left"), (right, "right")):
                        shown = [float(part.split()[-1]) for part in cell.split("%")[:-1]]
                        expected = [round(100 * p, 1) for _, p in pair["predictions"][model][side]]
                        assert shown == pytest.approx(expected)


class TestSentences:
    def test_the_places_are_the_first_and_the_last(self, render: Render) -> None:
        for page in render().pages:
            assert "the loss goes from 2.487 to 2.479 for bigram, from 2.614 to 2.372 for attention." in page.text
            assert "bigram 2.487 and 2.479; attention 2.614 and 2.372." in page.text

    def test_the_foremost_characters(self, render: Render) -> None:
        for page in render().pages:
            assert "by themselves: e −0.0128, I −0.0034" not in page.text, "I is the only one of its kind"
            assert "by themselves: e −0.0128, , −0.0032, . −0.0010, t +0.0180." in page.text
            assert r"Single characters: e −0.0128; , −0.0032; . −0.0010; t +0.0180." in page.text

    def test_the_weights_by_distance(self, render: Render) -> None:
        for page in render().pages:
            assert "0.741 at 0 (the latest character), 0.151 at 1, 0.061 at 2, 0.032 at 3, 0.013 at 4." in page.text
            assert "attention 0.741 at 0, 0.151 at 1, 0.061 at 2, 0.032 at 3, 0.013 at 4." in page.text

    def test_the_losses_in_the_alternative_texts(self, render: Render) -> None:
        for page in render().pages:
            assert "Validation loss at the end: bigram 2.4862, attention 2.3950." in page.text
            assert "1: 2.483, 2: 2.038, 3: 1.719. The trained models: bigram 2.486, attention 2.389." in page.text

    def test_the_rules_the_budget_and_the_parameters(self, render: Render) -> None:
        for page in render().pages:
            assert "sees from 1 to 6 of them; each of 1,003,853 characters of train text and 111,539 of" in page.text
            assert "bigram 2.4846 to 2.4878, attention 2.3825 to 2.4075." in page.text
            assert "2,000 resamples of blocks of 1,000 characters" in page.text
            assert "each model had 5,000 steps of 31 windows" in page.text
            assert "(bigram 4,225, attention 8,321)" in page.text
            assert ["attention.n_embd", "33"] in page.tables[-1]


READERS: dict[Path, Callable[[str], Page]] = {paths.REPORT: read_markdown, paths.HTML_REPORT: read_html}


@pytest.mark.parametrize("path", READERS)
def test_the_committed_report_holds_the_committed_numbers_and_no_other(path: Path) -> None:
    page = READERS[path]((ROOT / path).read_text(encoding="utf-8"))
    results = committed_results()
    assert strangers([page], results) == []
    assert len(page.numbers) > 250
    check_trained_models(page, results["metrics"]["models"])


def check_trained_models(page: Page, models: dict[str, Any]) -> None:
    """Compare each cell of their rows: a number may be a result, and stand in another's place."""
    for name, model in models.items():
        assert _row(page.tables[0], name)[1:] == [
            f"{model['val_loss']:.4f} ± {model['val_loss_sd']:.4f}",
            f"{model['val_loss_full']:.4f} ± {model['val_loss_full_sd']:.4f}",
            f"{model['val_bits']:.4f}",
            f"{model['val_perplexity']:.2f}",
            f"{100 * model['val_accuracy']:.1f}%",
            f"{model['train_loss']:.4f}",
            f"{model['parameters']:,}",
        ]


def _row(table: list[list[str]], name: str) -> list[str]:
    return next(row for row in table if row[0] == name)


def _value(cell: str) -> float:
    return math.nan if cell == "–" else float(cell.replace("−", "-"))
