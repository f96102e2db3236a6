"""The sentences of the report where there is one of a thing, or none."""

import copy

import pytest

from tests.examples import (
    ATTENTION,
    CHARACTERS,
    METRICS,
    ONE_CHARACTER_IN_SIGHT,
    PROVENANCE,
    SAMPLES,
    TRAINED,
    one_seed,
    with_difference,
)
from tests.report.conftest import Render

PICTURES_OF_IT = ("loss_curves", "gains", "contexts")


class TestOneCharacterInSight:
    def test_nothing_speaks_of_looking_back_as_if_there_were_something(self, render: Render) -> None:
        for page in render(**ONE_CHARACTER_IN_SIGHT, pictures=PICTURES_OF_IT).pages:
            assert "those before it; here there are none, since train.block_size is 1." in page.text
            assert "A model sees one character and predicts the next." in page.text
            assert "The loss there is 2.487 for bigram, 2.491 for attention." in page.text
            assert "and so must any model that sees one character." in page.text
            assert "all attention goes to that one" in page.text
            assert "A closer look" in page.text
            for wrong in (
                "1 characters", "from 1 to 1", "two rules", "good for", "need not", "first place", "at the last",
                "above the diagonal", "the best way to look back",
            ):  # fmt: skip
                assert wrong not in page.text

    def test_both_renderings_say_the_same(self, render: Render) -> None:
        report = render(**ONE_CHARACTER_IN_SIGHT, pictures=PICTURES_OF_IT)
        assert report.html_page.text == report.markdown_page.text

    def test_two_in_sight_are_a_text_to_look_back_in(self, render: Render) -> None:
        for page in render(metrics=METRICS | {"block_size": 2}).pages:
            assert "may also look at those before it." in page.text
            assert "windows of 2 characters, as in training, so that a model sees from 1 to 2 of them" in page.text
            assert "a model that looks back need not." in page.text
            assert "Why: what looking back is good for" in page.text


class TestOneOfAThing:
    def test_is_said_in_the_singular(self, render: Render) -> None:
        metrics = with_difference(block_length=1, resamples=1)
        metrics["models"]["attention"]["counts_matched"] = 1
        metrics["counts"] = {"kneser_ney_1": METRICS["counts"]["kneser_ney_1"]}
        provenance = PROVENANCE | {"train": PROVENANCE["train"] | {"steps": 1, "batch_size": 1}}
        unchanged = ("t", "lower case", 300, {"bigram": 2.5, "attention": 2.5})  # it has no part in the difference
        report = render(
            metrics=metrics,
            provenance=provenance,
            samples=SAMPLES | {"length": 1},
            characters=[*CHARACTERS[:3], unchanged],
        )
        for page in report.pages:
            assert "1 resample of blocks of 1 character." in page.text
            assert "up to 1 character (2.4834)" in page.text
            assert "1 character from each model" in page.text
            assert "each model had 1 step of 1 window, and" in page.text
            assert "The single character with the largest part, those aside" in page.text

    def test_is_not_where_there_are_more(self, render: Render) -> None:
        for page in render().pages:
            assert "2,000 resamples of blocks of 1,000 characters." in page.text
            assert "400 characters from each model" in page.text
            assert "each model had 5,000 steps of 31 windows, and" in page.text
            assert "The single characters with the largest parts, those aside" in page.text


class TestTheSameLoss:
    @pytest.mark.parametrize("difference", [0.0, -0.0, 0.00004, -0.00004])
    def test_is_no_distance(self, render: Render, difference: float) -> None:
        metrics = with_difference(val_loss=difference, seeds_low=-0.001, seeds_high=0.001)
        for page in render(metrics=metrics).pages:
            assert "No difference shown between attention and bigram. Their validation losses are the same" in page.text
            assert "the same to four decimals. The 95 % interval of the difference is −0.0010 to +0.0010" in page.text
            assert "apart" not in page.text

    def test_with_one_seed_is_neither_above_nor_below(self, render: Render) -> None:
        metrics = copy.deepcopy(one_seed())
        metrics["difference"]["val_loss"] = 0.0
        for page in render(metrics=metrics).pages:
            assert "In this one run the validation loss of attention is that of bigram, to four decimals." in page.text

    def test_a_small_distance_is_one(self, render: Render) -> None:
        metrics = with_difference(val_loss=-0.0001, seeds_low=-0.001, seeds_high=0.001)
        for page in render(metrics=metrics).pages:
            assert "are 0.0001 nats (0.0001 bits) per character apart, but that may be chance." in page.text

    def test_that_only_the_text_leaves_open_is_not_called_chance_of_the_seeds(self, render: Render) -> None:
        metrics = with_difference(val_loss=-0.2, seeds_low=-0.3, seeds_high=-0.1, text_low=None, text_high=None)
        for page in render(metrics=metrics).pages:
            assert "No difference shown between attention and bigram." in page.text
            assert "apart: more than the seeds explain, but whether another text would show it, this one" in page.text
            assert "chance" not in page.text.partition("Results")[0]


class TestSeveralModelsWithAttention:
    def test_the_one_on_the_map_is_named(self, render: Render) -> None:
        heads = dict.fromkeys(("bigram", "attention"), ATTENTION["attention"])
        for page in render(attention=heads).pages:
            assert "how the run of bigram with the first seed divides its attention" in page.text

    def test_a_single_one_needs_no_name(self, render: Render) -> None:
        assert len(TRAINED) > 1
        for page in render().pages:
            assert "how the run of the first seed divides its attention" in page.text
