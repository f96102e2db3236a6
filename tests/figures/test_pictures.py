"""The pictures beside the loss curves: they show what they are given, and nothing lies over anything else."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from charlm.details import Attention
from charlm.figures.attention import attention_distance, attention_map
from charlm.figures.contexts import contexts
from charlm.figures.gains import gains
from charlm.figures.loss_curves import loss_curves
from charlm.figures.positions import positions
from charlm.figures.style import Size, drawable, png
from charlm.gains import Gain
from charlm.palette import styles
from charlm.results import Curve
from tests.examples import ATTENTION

MODELS = ("bigram", "attention", "third")
STYLES = styles(MODELS)
SIZE = Size(6.4, 4.2, 100)
LOSSES = {"bigram": np.linspace(2.49, 2.48, 32), "attention": np.linspace(2.62, 2.38, 32)}
CLOSE = {model: np.full(32, 2.4) for model in MODELS}
COUNTS = {1: 2.4834, 2: 2.0381, 3: 1.7191, 4: 1.5612, 5: 1.5226, 6: 1.5165, 7: 1.5192, 8: 1.5221}
KINDS = [Gain("space", 0.15, 1.335, 1.107), Gain("lower case", 0.66, 2.563, 2.531), Gain("other", 0.05, 3.0, 3.2)]
SINGLES = [Gain(c, 0.02, 2.5, 2.5 + (i - 4) / 10) for i, c in enumerate("ab\t漢\x00$,|")]

SMALL = [Gain(f"kind {i}", 0.1, 2.5, 2.5 + part / 1000) for i, part in enumerate((-1.23, -0.87, -0.45, 0.11))]


def attention(text: str, seed: int = 1) -> Attention:
    weights = np.tril(np.random.default_rng(seed).random((len(text), len(text))))
    weights /= weights.sum(axis=1, keepdims=True)
    return of({"text": text, "weights": np.round(weights, 6).tolist(), "by_distance": [0.7, 0.2, 0.1, 0.05, 0.0]})


def of(attention: dict[str, Any]) -> Attention:
    return Attention.model_validate_json(json.dumps(attention))


STEPS = np.arange(0, 5001, 250)
FALL = np.stack([2 * np.exp(-STEPS / 200) + seed / 1000 for seed in range(5)])
CURVES = {model: Curve((1, 2, 3, 4, 5), STEPS, train=FALL + 2.37, val=FALL + 2.4) for model in MODELS}
LEVELS = {"uniform": 4.1744, "unigram": 3.3473, "add one": 2.4819, "best on train": 2.4519}
LINE = "A cold day,\tmy friend\nEleonore $$_"
PICTURES: dict[str, Callable[[Size], Figure]] = {
    "loss curves": lambda size: loss_curves(CURVES, LEVELS, STYLES, size),
    "positions": lambda size: positions(LOSSES, STYLES, size),
    "close positions": lambda size: positions(CLOSE, STYLES, size),
    "one position": lambda size: positions({"bigram": np.array([2.5])}, STYLES, size),
    "contexts": lambda size: contexts(COUNTS, {"bigram": 2.4847, "attention": 2.392}, STYLES, size),
    "one context": lambda size: contexts({1: 2.5}, dict.fromkeys(MODELS, 2.5), STYLES, size),
    "gains": lambda size: gains(KINDS, SINGLES, "bigram", "attention", STYLES, size),
    "small gains": lambda size: gains(SMALL, [], "bigram", "attention", STYLES, size),
    "one gain": lambda size: gains(KINDS[:1], [], "bigram", "attention", STYLES, size),
    "losses only": lambda size: gains(KINDS[2:], SINGLES[-2:], "bigram", "attention", STYLES, size),
    "no change": lambda size: gains([Gain("space", 1.0, 2.0, 2.0)], [], "bigram", "attention", STYLES, size),
    "map": lambda size: attention_map("attention", attention(LINE), STYLES, size),
    "long map": lambda size: attention_map("attention", attention(LINE * 3), STYLES, size),
    "smallest map": lambda size: attention_map("attention", attention("é"), STYLES, size),
    "distance": lambda size: attention_distance({"attention": attention(LINE)}, STYLES, size),
    "two distances": lambda size: attention_distance({m: attention(LINE) for m in MODELS[1:]}, STYLES, size),
}


def texts(figure: Figure) -> dict[str, Text]:
    """All texts that are drawn, by what they say."""
    drawn: list[Text] = []
    draw = Text.draw

    def record(text: Text, renderer: Any) -> None:
        drawn.append(text)
        draw(text, renderer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", record)
        figure.draw_without_rendering()
    return {f"{text.get_text()} @{i}": text for i, text in enumerate(drawn) if text.get_text()}


@pytest.mark.parametrize("size", [SIZE, Size(6, 4, 100), Size(8, 4.5, 100)], ids=["usual", "smallest", "larger"])
@pytest.mark.parametrize("name", PICTURES)
def test_no_text_lies_over_another_or_off_the_picture(name: str, size: Size) -> None:
    figure = PICTURES[name](size)
    boxes = {said: text.get_window_extent() for said, text in texts(figure).items()}
    assert len(boxes) > 5
    for said, box in boxes.items():
        assert box.x0 >= 0, said
        assert box.y0 >= 0, said
        assert box.x1 <= figure.bbox.x1, said
        assert box.y1 <= figure.bbox.y1, said
    for (said, box), (other_said, other) in itertools.combinations(boxes.items(), 2):
        shared_width = min(box.x1, other.x1) - max(box.x0, other.x0)
        shared_height = min(box.y1, other.y1) - max(box.y0, other.y0)
        # A box has room for the tallest letter and for a descender: a shared hair is not an overlap.
        assert shared_width < 2 or shared_height < 0.3 * min(box.height, other.height), (said, other_said)


@pytest.mark.parametrize("name", PICTURES)
def test_letters_are_large_enough_for_a_phone(name: str) -> None:
    figure = PICTURES[name](SIZE)
    pixels_per_point = 360 / figure.get_figwidth() / 72
    smallest = min(float(text.get_fontsize()) * pixels_per_point for text in texts(figure).values())
    assert smallest > 6.5


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("loss curves", ["step", "loss (nats per character)"]),
        ("positions", ["characters in sight", "loss (nats per character)"]),
        ("contexts", ["characters of context", "loss (nats per character)"]),
        ("gains", ["loss (nats per character)", "part (nats per character)"]),
        ("map", ["to this character", "weight from this character"]),
        ("distance", ["characters back", "mean weight"]),
    ],
)
def test_every_axis_says_in_what_it_counts(name: str, units: list[str]) -> None:
    axes = PICTURES[name](SIZE).axes
    labels = [said for one in axes for said in (one.get_xlabel(), one.get_ylabel()) if said]
    assert len(labels) == len(units)
    for said, unit in zip(labels, units, strict=True):
        assert unit in said


def lines(figure: Figure, axes: int = 0) -> list[tuple[list[float], list[float]]]:
    return [tuple(map(np.ndarray.tolist, np.array(line.get_data(), dtype=float))) for line in figure.axes[axes].lines]


def test_positions_are_drawn_from_one_character_in_sight() -> None:
    figure = positions(LOSSES, STYLES, SIZE)
    for (x, y), losses in zip(lines(figure), LOSSES.values(), strict=True):
        assert x == list(range(1, 33))
        assert y == pytest.approx(losses)
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert ticks[0] == "1"
    assert "0" not in ticks


def test_contexts_show_the_counts_and_a_level_for_each_model() -> None:
    figure = contexts(COUNTS, {"bigram": 2.4847, "attention": 2.392}, STYLES, SIZE)
    drawn = lines(figure)
    assert (list(COUNTS), list(COUNTS.values())) in drawn
    assert [y for _, y in drawn if len(y) == 2] == [[2.4847] * 2, [2.392] * 2]
    said = [text.get_text() for text in texts(figure).values()]
    assert {f"{loss:.2f}" for loss in COUNTS.values()} <= set(said)
    assert {"bigram 2.485", "attention 2.392"} <= set(said)


def test_gains_show_both_losses_and_the_part_of_each() -> None:
    figure = gains(KINDS, SINGLES, "bigram", "attention", STYLES, SIZE)
    losses, parts = figure.axes
    rows = [*KINDS, *SINGLES]
    markers = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in losses.lines}
    assert markers["bigram"] == [row.baseline for row in rows]
    assert markers["attention"] == [row.model for row in rows]
    assert [bar.get_width() for bar in parts.patches] == pytest.approx([row.part for row in rows])  # type: ignore[attr-defined]
    assert [text.get_text() for text in losses.get_yticklabels()] == [
        "space", "lower case", "other", "a", "b", "tab", "U+6F22", "U+0000", "$", ",", "|",
    ]  # fmt: skip
    rises = [bar for bar, row in zip(parts.patches, rows, strict=True) if row.part > 0]
    assert {bar.get_hatch() for bar in rises} == {"///"}, "a rise can be told from a fall without colour"
    assert {bar.get_hatch() for bar in set(parts.patches) - set(rises)} == {""}


def test_the_map_shows_the_weights_and_leaves_out_the_future() -> None:
    shown = of(ATTENTION["attention"])
    axes = attention_map("attention", shown, STYLES, SIZE).axes[0]
    image = axes.images[0].get_array()
    assert isinstance(image, np.ma.MaskedArray)
    hidden = np.ma.getmaskarray(image)
    T = len(shown.text)
    for row, column in itertools.product(range(T), range(T)):
        if column > row:
            assert hidden[row, column]
        else:
            assert image[row, column] == shown.weights[row][column]
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [text.get_text() for text in ticks] == ["A", "␣", "b", "↵", "c"]


def test_the_map_is_darker_where_the_weight_is_larger() -> None:
    image = attention_map("attention", attention(LINE), STYLES, SIZE).axes[0].images[0]
    colours = np.asarray(image.cmap(image.norm(np.linspace(0, 1, 50))))
    greys = colours[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(greys) < 0).all()


def test_the_distance_is_beside_that_of_even_attention() -> None:
    shown = attention(LINE)
    mean, even = lines(attention_distance({"attention": shown}, STYLES, SIZE))
    assert mean[1] == list(shown.by_distance)
    T = len(shown.by_distance)
    uniform = np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]
    assert even[1] == pytest.approx([np.diagonal(uniform, -distance).mean() for distance in range(T)])


def test_a_model_looks_the_same_in_all_pictures() -> None:
    def look(line: Any) -> tuple[str, str]:
        return line.get_color(), line.get_marker()

    expected = ("#0072B2", "s")
    assert tuple(STYLES["attention"]) == expected
    assert look(positions(LOSSES, STYLES, SIZE).axes[0].lines[1]) == expected
    assert look(attention_distance({"attention": attention(LINE)}, STYLES, SIZE).axes[0].lines[0]) == expected
    assert look(gains(KINDS, [], "bigram", "attention", STYLES, SIZE).axes[0].lines[1]) == expected
    assert look(contexts(COUNTS, {"attention": 2.4}, STYLES, SIZE).axes[0].lines[1]) == expected


def test_every_model_has_a_marker_of_its_own() -> None:
    many = styles(["x", "attention", "y", "bigram", "z", "v", "w"])
    assert len({style.marker for style in many.values()}) == len({style.colour for style in many.values()}) == 7
    assert many["attention"] == styles(["attention"])["attention"]


def test_what_the_font_lacks_becomes_a_box() -> None:
    assert drawable("aé漢🙂↵␣") == "aé□□↵␣"


class TestPng:
    def test_has_the_size_asked_for_and_names_no_program(self) -> None:
        image = png(positions(LOSSES, STYLES, Size(6.4, 4.2, 200)))
        assert (int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")) == (1280, 840)
        assert b"Software" not in image
        assert b"matplotlib" not in image

    @pytest.mark.parametrize("name", ["positions", "contexts", "gains", "map", "distance"])
    def test_is_the_same_under_other_settings_and_leaves_them_alone(self, name: str) -> None:
        expected = png(PICTURES[name](SIZE))
        with matplotlib.rc_context():
            matplotlib.rcParams.update({"font.size": 20, "axes.grid": True, "savefig.dpi": 30, "savefig.bbox": "tight"})
            assert png(PICTURES[name](SIZE)) == expected
            assert matplotlib.rcParams["font.size"] == 20
            assert matplotlib.rcParams["axes.grid"] is True
