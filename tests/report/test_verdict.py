"""The sentence that answers the question, for each case that the numbers can make."""

from typing import Any

import pytest

from charlm.report.verdict import verdict
from charlm.results import Metrics
from tests.examples import METRICS, TRAINED, one_model, one_seed, with_difference
from tests.report.conftest import Render


def outcome(metrics: dict[str, Any]) -> str | None:
    found = verdict(Metrics.model_validate(metrics))
    return None if found is None else found.outcome


class TestOutcome:
    @pytest.mark.parametrize(
        ("seeds", "text", "expected"),
        [
            ((-0.2, -0.1), (-0.3, -0.1), "lower"),
            ((0.1, 0.2), (0.1, 0.3), "higher"),
            ((-0.2, 0.01), (-0.3, -0.1), "unclear"),  # chance of the seeds
            ((-0.2, -0.1), (-0.3, 0.01), "unclear"),  # chance of the text
            ((-0.01, 0.2), (0.1, 0.3), "unclear"),
            ((0.1, 0.2), (-0.01, 0.3), "unclear"),
            ((-0.2, -0.1), (0.1, 0.3), "unclear"),  # they contradict each other
            ((-0.2, 0.0), (-0.3, -0.1), "unclear"),  # 0 itself is not left out
            ((-0.2, -0.1), (None, None), "unclear"),  # no text to draw from
            ((None, None), (-0.3, -0.1), "one seed"),
            ((None, None), (None, None), "one seed"),
        ],
    )
    def test_needs_both_intervals_on_one_side(
        self, seeds: tuple[float, float], text: tuple[float, float], expected: str
    ) -> None:
        metrics = with_difference(seeds_low=seeds[0], seeds_high=seeds[1], text_low=text[0], text_high=text[1])
        assert outcome(metrics) == expected

    def test_one_model_is_compared_with_none(self) -> None:
        assert outcome(one_model()) is None
        assert outcome(METRICS | {"models": {"bigram": TRAINED["bigram"]}}) is None

    def test_the_second_model_is_compared_with_the_first(self) -> None:
        found = verdict(Metrics.model_validate(METRICS | {"models": dict(reversed(TRAINED.items()))}))
        assert found is not None
        assert (found.model, found.baseline) == ("bigram", "attention")


class TestSentence:
    def test_an_improvement(self, render: Render) -> None:
        for page in render().pages:
            assert (
                "attention has a lower validation loss than bigram, by 0.0912 nats (0.1316 bits) per character. "
                "On average it is as unsure as if it chose among 10.97 equally likely characters; bigram, among 12.02. "
                "The 95 % interval of the difference is −0.1037 to −0.0787 over the 5 seeds and −0.0953 to −0.0871 "
                "over the validation text: both leave out 0."
            ) in page.text
            assert "No difference" not in page.text

    def test_a_worsening(self, render: Render) -> None:
        metrics = with_difference(val_loss=0.0912, seeds_low=0.08, seeds_high=0.1, text_low=0.09, text_high=0.092)
        for page in render(metrics=metrics).pages:
            assert "attention has a higher validation loss than bigram" in page.text
            assert "lower validation loss" not in page.text

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            (
                {"seeds_high": 0.0123},
                "−0.1037 to +0.0123 over the 5 seeds; −0.0953 to −0.0871 over the validation text.",
            ),
            (
                {"text_high": 0.0123},
                "−0.1037 to −0.0787 over the 5 seeds; −0.0953 to +0.0123 over the validation text.",
            ),
            ({"text_low": None, "text_high": None}, "over the 5 seeds; the text is too short for an interval."),
        ],
    )
    def test_no_difference(self, render: Render, changed: dict[str, float | None], said: str) -> None:
        for page in render(metrics=with_difference(**changed)).pages:
            assert "No difference shown between attention and bigram" in page.text
            assert "0.0912 nats (0.1316 bits) per character apart" in page.text
            assert said in page.text
            assert "has a lower validation loss" not in page.text

    def test_one_seed_claims_nothing(self, render: Render) -> None:
        for page in render(metrics=one_seed()).pages:
            assert "No difference shown: with one seed, the spread over seeds is unknown." in page.text
            assert "is 0.0912 nats (0.1316 bits) per character below that of bigram" in page.text
            assert "has a lower validation loss" not in page.text
            assert "±" not in page.text
            assert "t-interval" not in page.text

    def test_one_model(self, render: Render) -> None:
        for page in render(metrics=one_model()).pages:
            assert "Only bigram was evaluated: evaluate.models names no second one to compare it with." in page.text


class TestFloor:
    @pytest.mark.parametrize(("gap", "enough"), [(0.0, True), (0.02, True), (0.0201, False), (0.5, False)])
    def test_the_baseline_must_come_near_it(self, render: Render, gap: float, enough: bool) -> None:
        metrics = METRICS | {"floor": {"bigram_train_gap": gap, "bigram_train_gap_min": 0.0}}
        for page in render(metrics=metrics).pages:
            assert f"ends {gap:.4f} nats above it" in page.text
            assert ("so it is trained enough to be a fair baseline" in page.text) is enough
            assert ("not trained enough" in page.text) is not enough

    @pytest.mark.parametrize(
        ("matched", "said"),
        [
            (0, "does not beat Kneser-Ney counts with a context of 1 character (2.4834)."),
            (1, "lies between Kneser-Ney counts with a context of 1 (2.4834) and of 2 characters (2.0381)."),
            (3, "beats Kneser-Ney counts of every context, up to 3 characters (1.7191)."),
        ],
    )
    def test_the_matched_count_order(self, render: Render, matched: int, said: str) -> None:
        models = TRAINED | {"attention": TRAINED["attention"] | {"counts_matched": matched}}
        for page in render(metrics=METRICS | {"models": models}).pages:
            assert f"With full context, attention (2.3887) {said}" in page.text
            better = "counts with a context of 2 characters, which need no training at all, reach 2.0381" in page.text
            assert better == (matched == 1)
