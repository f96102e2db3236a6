"""The README says what is so: its numbers are those of metrics.json, its map names every file, its targets exist."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from charlm import paths

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
METRICS: dict[str, Any] = json.loads((ROOT / paths.METRICS).read_text(encoding="utf-8"))


def row(start: str) -> list[str]:
    """Return the cells of the table row that begins with `start`, without emphasis and with plain minus signs."""
    [line] = [line for line in README.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip(" *").replace("\N{MINUS SIGN}", "-") for cell in line.strip("|").split("|")]


def with_sd(metrics: dict[str, Any], key: str) -> str:
    return f"{metrics[key]:.4f} ± {metrics[f'{key}_sd']:.4f}"


@pytest.mark.parametrize(("start", "model"), [("bigram table", "bigram"), ("one attention head", "attention")])
def test_a_models_row_holds_its_metrics(start: str, model: str) -> None:
    found = METRICS["models"][model]
    assert row(start)[1:] == [
        f"{found['parameters']:,}",
        with_sd(found, "val_loss"),
        f"{found['val_bits']:.4f}",
        f"{found['val_perplexity']:.2f}",
        f"{found['val_accuracy']:.1%}",
    ]


def test_the_other_rows_hold_their_metrics() -> None:
    difference = METRICS["difference"]
    assert row("**difference**")[2:4] == [with_sd(difference, "val_loss"), f"{difference['val_bits']:.4f}"]
    assert row("bigram counts, add one")[2] == f"{METRICS['counts']['bigram']['val_loss']:.4f}"
    assert row("Kneser-Ney counts, 2 characters")[2] == f"{METRICS['counts']['kneser_ney_2']['val_loss']:.4f}"


def test_the_sentence_above_the_table_counts_what_was_scored() -> None:
    assert f"{METRICS['tokens']['val']:,} predictions" in README
    assert f"over {METRICS['seeds']} seeds" in README


def test_the_intervals_are_those_of_the_metrics() -> None:
    difference = {key: f"{abs(value):.4f}" for key, value in METRICS["difference"].items() if "_" in key and value}
    text = README.replace("\N{MINUS SIGN}", "")
    assert f"{difference['seeds_low']} to {difference['seeds_high']} over the seeds" in text
    assert f"{difference['text_low']} to {difference['text_high']} over the text" in text


def test_the_map_names_every_module_and_no_other() -> None:
    house = README.split("## The map of the house")[1].split("\n## ")[0]
    modules = Counter(path.name for path in (ROOT / "src/charlm").rglob("*.py") if path.name != "__init__.py")
    named = Counter(re.findall(r"\b\w+\.py\b", house))  # each as often as there are folders that have one
    assert named == modules


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"tests/[\w./]+", README)
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert len(named) > 10
