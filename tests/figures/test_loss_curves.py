"""The loss curves: what they show, where their labels lie, and that black and white is enough to read them."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from charlm.errors import CharlmError
from charlm.figures.loss_curves import loss_curves
from charlm.figures.style import Size, png
from charlm.palette import styles
from charlm.results import Curve

STEPS = np.arange(0, 5001, 250)
LEVELS = {"uniform": 4.1744, "unigram": 3.3473, "add one": 2.4819, "best on train": 2.4519}


def curve(end: float, *, sd: float = 0.002, seeds: int = 5) -> Curve:
    """Falling from about 4.6 to `end`, each seed a little off."""
    fall = end + 2.1 * np.exp(-STEPS / 200)
    offsets = sd * np.linspace(-1, 1, seeds)[:, None]
    return Curve(tuple(range(1, seeds + 1)), STEPS, train=fall - 0.03 + offsets, val=fall + offsets)


def draw(
    curves: dict[str, Curve], levels: dict[str, float] = LEVELS, width: float = 6.4, height: float = 4.2
) -> Figure:
    return loss_curves(curves, levels, styles(curves), Size(width, height, 100))


def lines(figure: Figure) -> list[Line2D]:
    return figure.axes[0].get_lines()


CLOSE = {"bigram": curve(2.4862), "attention": curve(2.3950)}
CLOSER = {"bigram": curve(2.4819), "attention": curve(2.4820), "third": curve(2.4818)}


class TestLossCurves:
    @pytest.mark.parametrize("curves", [CLOSE, CLOSER, {"bigram": curve(2.48)}], ids=["two", "three", "one"])
    @pytest.mark.parametrize(("width", "height"), [(6.4, 4.2), (8, 4.5), (6, 4)])
    def test_no_text_lies_over_another_or_off_the_picture(
        self, curves: dict[str, Curve], width: float, height: float
    ) -> None:
        figure = draw(curves, width=width, height=height)
        boxes = {text.get_text(): text.get_window_extent() for text in figure.texts}
        axes = figure.axes[0].get_tightbbox()
        assert axes is not None
        assert len(boxes) == len(figure.texts) >= 2 * len(curves) + 2
        for (name, box), (other_name, other) in itertools.combinations(boxes.items(), 2):
            assert not box.overlaps(other), (name, other_name)
        for name, box in boxes.items():
            assert box.x0 >= 0, name
            assert box.y0 >= 0, name
            assert box.x1 <= figure.bbox.x1, name
            assert box.y1 <= figure.bbox.y1, name
            assert not box.overlaps(axes), name

    def test_every_leader_goes_from_the_end_of_a_line_to_its_label(self) -> None:
        figure = draw(CLOSE)
        axes = figure.axes[0]
        leaders = [line for line in figure.get_children() if isinstance(line, Line2D)]
        labels = figure.texts[: len(leaders)]
        assert len(leaders) == 6
        unnumbered = {f"{name}, sample of train": f"{c.train[:, -1].mean():.3f}" for name, c in CLOSE.items()}
        for leader, label in zip(leaders, labels, strict=True):
            points = figure.transFigure.transform(leader.get_xydata())
            loss = float(axes.transData.inverted().transform(points[0])[1])
            text = label.get_text()
            assert f"{loss:.3f}" == unnumbered.get(text, text.split()[-1])
            box = label.get_window_extent()
            assert box.y0 < points[1][1] < box.y1

    def test_models_and_splits_differ_without_colour(self) -> None:
        curves = {name: curve(2.5) for name in ("bigram", "attention", "a", "b", "c", "d", "e")}
        drawn = [line for line in lines(draw(curves, {})) if line.get_linestyle() != ":"]
        train, val = drawn[::2], drawn[1::2]
        assert {line.get_linestyle() for line in train} == {"--"}
        assert {line.get_linestyle() for line in val} == {"-"}
        assert len({str(line.get_marker()) for line in val}) == len(curves)
        assert len({str(line.get_color()) for line in val}) == len(curves)

    def test_a_model_keeps_its_colour_whatever_else_is_drawn(self) -> None:
        alone = lines(draw({"attention": curve(2.4)}, {}))
        third = lines(draw({"other": curve(2.6), "bigram": curve(2.5), "attention": curve(2.4)}, {}))
        assert alone[-1].get_color() == third[-1].get_color() == "#0072B2"

    def test_lines_are_means_and_the_band_is_one_standard_deviation(self) -> None:
        figure = draw(CLOSE, {})
        train, val = lines(figure)[:2]
        of = CLOSE["bigram"]
        assert np.asarray(val.get_ydata()) == pytest.approx(sum(of.val) / 5)
        assert np.asarray(train.get_ydata()) == pytest.approx(sum(of.train) / 5)
        band = figure.axes[0].collections[0].get_paths()[0].get_extents()
        sd = (sum((run - sum(of.val) / 5) ** 2 for run in of.val) / 4) ** 0.5  # of a sample
        assert band.y0 == pytest.approx(min(sum(of.val) / 5 - sd))
        assert "± 1 sd" in figure.texts[-1].get_text()

    def test_one_seed_has_no_band_and_says_so(self) -> None:
        figure = draw({"bigram": curve(2.5, seeds=1)})
        assert not figure.axes[0].collections
        assert "one seed, no spread" in figure.texts[-1].get_text()
        assert "sd" not in figure.texts[-1].get_text()

    def test_the_end_fills_the_range_and_what_is_above_is_named(self) -> None:
        figure = draw(CLOSE)
        low, high = figure.axes[0].get_ylim()
        assert low < 2.365 < 2.5 < high < 2.8
        explanation = figure.texts[-1].get_text()
        assert "uniform 4.174" in explanation
        assert "unigram 3.347" in explanation
        assert "the first steps, up to 4.586" in explanation
        assert "add one" not in explanation

    @pytest.mark.parametrize(
        ("levels", "said"),
        [
            ({"add one": 2.4819, "uniform": 4.1744}, "Dotted: counts."),  # uniform is off the top
            ({"uniform": 2.45, "add one": 2.4819, "best on train": 2.4519}, "Dotted: uniform and counts."),
            ({"uniform": 2.45}, "Dotted: uniform."),
            ({"uniform": 4.1744}, None),
            ({}, None),
        ],
    )
    def test_the_dotted_lines_are_named_as_they_are_drawn(self, levels: dict[str, float], said: str | None) -> None:
        figure = draw(CLOSE, levels)
        explanation = figure.texts[-1].get_text()
        assert (said or "Dashed: sample of train.") in explanation
        assert ("Dotted" in explanation) == any(line.get_linestyle() == ":" for line in lines(figure)) == bool(said)

    def test_a_single_evaluation_can_be_drawn(self) -> None:
        point = np.array([[4.2]])
        png(draw({"bigram": Curve((1,), np.array([0]), point, point)}, {"uniform": 4.2}))

    def test_curves_of_different_seeds_are_refused(self) -> None:
        with pytest.raises(CharlmError, match=r"different seeds \(bigram 1, 2; attention 1, 2, 3\)"):
            draw({"bigram": curve(2.5, seeds=2), "attention": curve(2.4, seeds=3)})
