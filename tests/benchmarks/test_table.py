"""The table says what was measured, judges it, and keeps what it did not measure itself."""

from pathlib import Path

import pytest

from benchmarks.scale import Cost, growth, rows
from benchmarks.table import (
    SCALE,
    SIDE_BY_SIDE,
    Figures,
    Goal,
    Line,
    processor,
    shown,
    side_by_side,
    write_section,
)

FASTER = Line("training", "steps/s", Goal(4, at_least=True))
SMALLER = Line("memory", "MB", Goal(400, at_least=False, by_ratio=False))


def test_a_ratio_is_taken_round_by_round_and_its_median_judged() -> None:
    figures = Figures(FASTER, program=(4000.0, 1000.0, 5000.0), plain=(1000.0, 500.0, 1000.0))
    assert figures.ratios == [4.0, 2.0, 5.0]
    assert figures.met is True
    assert figures.cells() == ["training", "4,000 steps/s", "1,000 steps/s", "4.00 (2.00–5.00)", "≥ 4 ×", "yes"]


def test_a_missed_goal_shows() -> None:
    figures = Figures(FASTER, program=(3900.0,), plain=(1000.0,))
    assert figures.cells()[-1] == "**no**"


def test_a_goal_for_the_figure_itself_needs_nothing_to_compare_with() -> None:
    figures = Figures(SMALLER, program=(399.0, 401.0, 398.0), plain=(None, None, None))
    assert figures.cells() == ["memory", "399 MB", "–", "–", "≤ 400 MB", "yes"]
    assert Figures(SMALLER, program=(401.0,), plain=(9000.0,)).met is False


def test_what_has_no_goal_is_not_judged() -> None:
    figures = Figures(Line("sd", "nats", None), program=(0.0,), plain=(0.0027,))
    assert figures.cells() == ["sd", "0 nats", "0.0027 nats", "–", "–", "–"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.00271, "0.0027"), (0.0714, "0.0714"), (1.5, "1.5"), (1234.5, "1,234")]
)
def test_numbers_have_the_digits_that_mean_something(value: float, text: str) -> None:
    assert shown(value) == text


def test_the_table_is_markdown() -> None:
    lines = side_by_side([Figures(SMALLER, (1.0,), (None,))], rounds=1).splitlines()
    assert len(lines) == 3
    assert {line.count("|") for line in lines} == {7}


def test_an_item_of_other_rounds_than_the_table_tells_how_many() -> None:
    figures = [Figures(SMALLER, (1.0,) * rounds, (None,) * rounds) for rounds in (10, 3, 1)]
    titles = [line.split(" | ")[0] for line in side_by_side(figures, rounds=10).splitlines()[2:]]
    assert titles == ["| memory", "| memory; 3 rounds", "| memory; 1 round"]


def test_a_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    write_section(SCALE, "### bigram\n\nold scale", path)
    write_section(SIDE_BY_SIDE, "| a |\n\nmore", path)
    once = path.read_text(encoding="utf-8")
    write_section(SIDE_BY_SIDE, "| a |\n\nmore", path)
    assert path.read_text(encoding="utf-8") == once
    write_section(SCALE, "### bigram\n\nnew scale", path)
    text = path.read_text(encoding="utf-8")
    assert text == once.replace("old scale", "new scale")
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == [SIDE_BY_SIDE, SCALE]
    assert text.count("LOG.md") == once.count("LOG.md") > 0


def test_of_the_machine_only_the_processors_type_is_named(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu\n\nmodel name\t: Some CPU\n")
    assert processor(cpuinfo) == "Some CPU @ 2 GHz"
    cpuinfo.write_text("processor\t: 0\n")
    assert processor(cpuinfo) == "an unnamed processor"


def test_growth_is_the_exponent() -> None:
    assert growth(3.0, 12.0, 8, 16) == pytest.approx(2)
    assert growth(3.0, 3.0, 8, 16) == 0
    found = rows("V", {10: Cost(1.0, 5.0), 100: Cost(10.0, 500.0)})
    assert found == [["V 10", "1 ms", "", "5 MB", ""], ["V 100", "10 ms", "1.00", "500 MB", "2.00"]]
