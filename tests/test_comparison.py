"""The figures of the comparison against arithmetic by hand."""

import math
from typing import Any

import pytest

from charlm.comparison import bits, by_character, by_position, character_class, mean_and_sd
from charlm.comparison import summarise as summarise_with
from charlm.errors import CharlmError

COUNTS = {"uniform": {"train_loss": 4.17438727, "val_loss": 4.17438727}, "bigram_ml": {"train_loss": 2.45188888}}


BLOCKS, COUNT = 9, 10  # blocks of the validation text, and targets in each


def summarise(runs: dict[str, list[dict[str, Any]]], counts: Any = COUNTS) -> dict[str, Any]:
    return summarise_with(runs, counts, block_length=COUNT, resamples=200, bootstrap_seed=1)


def scores(val_losses: list[float]) -> list[dict[str, Any]]:
    """Return one score per loss; what else it holds follows from its place."""
    return [
        {
            "parameters": 10,
            "train_loss": i + 1.0,
            "val_loss": loss,
            "val_accuracy": (i + 1) / 10,
            "train_tokens": 900,
            "val_tokens": 90,
            "val_loss_full": loss - 0.01,
            "breakdown": {
                "block_sums": [COUNT * loss] * BLOCKS,
                "block_counts": [COUNT] * BLOCKS,
                "position_sums": [60 * loss, 30 * loss + i],
                "position_counts": [45, 45],
                "token_sums": [0.0, 90 * loss + i, 3.0],
                "token_counts": [0, 80, 10],
            },
        }
        for i, loss in enumerate(val_losses)
    ]


def test_a_model_is_summed_up_by_means_and_sample_deviations() -> None:
    two, three, five = math.log(2), math.log(3), math.log(5)
    found = summarise({"bigram": scores([two, three, five])}, COUNTS)["models"]["bigram"]
    # Three values a, b, c: the sample variance is the sum of squares about the mean over 2.
    mean = (two + three + five) / 3
    sd = math.sqrt(((two - mean) ** 2 + (three - mean) ** 2 + (five - mean) ** 2) / 2)
    assert found == {
        "parameters": 10,
        "train_loss": 2.0,
        "train_loss_sd": 1.0,
        "val_loss": round(mean, 6),
        "val_loss_sd": round(sd, 6),
        "val_bits": pytest.approx((1 + math.log2(3) + math.log2(5)) / 3, abs=1e-6),
        "val_bits_sd": pytest.approx(sd / math.log(2), abs=1e-6),
        "val_perplexity": pytest.approx((2 + 3 + 5) / 3, abs=1e-6),  # the mean of perplexities, not of the mean loss
        "val_perplexity_sd": pytest.approx(math.sqrt(7 / 3), abs=1e-6),
        "val_accuracy": 0.2,
        "val_accuracy_sd": 0.1,
        # 4.3027 is Student's 97.5 % quantile for two degrees of freedom.
        "val_loss_low": pytest.approx(mean - 4.302653 * sd / math.sqrt(3), abs=2e-6),
        "val_loss_high": pytest.approx(mean + 4.302653 * sd / math.sqrt(3), abs=2e-6),
        "val_loss_full": pytest.approx(mean - 0.01, abs=1e-6),
        "val_loss_full_sd": round(sd, 6),
        "counts_matched": 0,
    }


def test_the_difference_is_the_second_model_minus_the_first_seed_by_seed() -> None:
    # The models' own deviations are 1; the pairs' differences are -0.1, -0.2 and -0.3.
    found = summarise({"bigram": scores([2.0, 3.0, 4.0]), "attention": scores([1.9, 2.8, 3.7])}, COUNTS)
    assert found["difference"] == {
        "val_loss": -0.2,
        "val_loss_sd": 0.1,
        "val_bits": round(-0.2 / math.log(2), 6),
        "val_bits_sd": round(0.1 / math.log(2), 6),
        "val_loss_full": -0.2,
        "val_loss_full_sd": 0.1,
        "seeds_low": pytest.approx(-0.2 - 4.302653 * 0.1 / math.sqrt(3), abs=2e-6),
        "seeds_high": pytest.approx(-0.2 + 4.302653 * 0.1 / math.sqrt(3), abs=2e-6),
        "text_low": -0.2,  # the same in each block
        "text_high": -0.2,
        "block_length": COUNT,
        "resamples": 200,
    }


def test_a_single_seed_has_no_deviation() -> None:
    found = summarise({"bigram": scores([2.0]), "attention": scores([1.5])}, COUNTS)
    assert found["models"]["bigram"]["val_loss_sd"] is None
    assert found["difference"]["val_loss"] == -0.5
    assert found["difference"]["val_loss_sd"] is None
    assert found["difference"]["seeds_low"] is found["difference"]["seeds_high"] is None
    assert found["difference"]["text_low"] == -0.5
    assert found["seeds"] == 1


def test_a_single_model_has_no_difference() -> None:
    assert "difference" not in summarise({"bigram": scores([2.0])}, COUNTS)


def test_counts_tokens_and_seeds_are_as_measured() -> None:
    found = summarise({"bigram": scores([2.0, 2.1])}, COUNTS)
    assert found["counts"] == {
        "uniform": {"train_loss": 4.174387, "val_loss": 4.174387},
        "bigram_ml": {"train_loss": 2.451889},
    }
    assert found["tokens"] == {"train": 900, "val": 90}
    assert found["seeds"] == 2
    assert found["block_size"] == 2


def test_models_with_unlike_numbers_of_seeds_are_not_paired() -> None:
    with pytest.raises(ValueError, match="shorter"):
        summarise({"bigram": scores([2.0, 2.1]), "attention": scores([1.9])}, COUNTS)


@pytest.mark.parametrize("loss", [1000.0, math.inf, math.nan])
def test_a_loss_whose_perplexity_no_float_holds_is_an_error(loss: float) -> None:
    with pytest.raises(CharlmError, match="attention"):
        summarise({"bigram": scores([2.0]), "attention": scores([loss])}, COUNTS)


def test_figures_are_of_six_digits() -> None:
    assert mean_and_sd("x", [1 / 3, 2 / 3]) == {"x": 0.5, "x_sd": 0.235702}


def test_bits_are_nats_over_the_logarithm_of_two() -> None:
    assert bits(math.log(2)) == 1
    assert bits(math.log(8)) == pytest.approx(3, rel=1e-15)


def test_the_texts_interval_is_that_of_the_paired_blocks() -> None:
    bigram, attention = scores([2.0, 2.0]), scores([1.9, 1.9])
    # The seeds' mean differences of blocks are -0.1 +- 0.05 each: in the mean -0.1, in spread a known one.
    for seed, sign in ((0, 1), (1, -1)):
        for block in range(BLOCKS):
            swing = 0.5 * (-1) ** block
            attention[seed]["breakdown"]["block_sums"][block] += swing + sign  # what the seeds differ in cancels
    found = summarise({"bigram": bigram, "attention": attention})["difference"]
    assert found["text_low"] == pytest.approx(-0.1 + 0.05 / 9 - 0.034, abs=0.012)
    assert found["text_high"] == pytest.approx(-0.1 + 0.05 / 9 + 0.034, abs=0.012)


def test_the_bigrams_gap_is_above_the_least_train_loss_possible() -> None:
    floor = summarise({"bigram": scores([2.0, 2.1])})["floor"]
    # Its train losses are 1 and 2 in these scores.
    assert floor == {"bigram_train_gap": round(1.5 - 2.45188888, 6), "bigram_train_gap_min": round(1 - 2.45188888, 6)}
    assert "floor" not in summarise({"attention": scores([2.0])})


@pytest.mark.parametrize(("loss", "matched"), [(3.1, 0), (2.6, 0), (2.2, 1), (1.95, 2), (1.5, 3)])
def test_a_model_matches_the_counts_up_to_where_they_are_better(loss: float, matched: int) -> None:
    counts = {f"kneser_ney_{n}": {"val_loss_full": loss_of} for n, loss_of in enumerate([2.5, 2.0, 1.9], start=1)}
    found = summarise({"attention": scores([loss])}, counts)
    assert found["models"]["attention"]["counts_matched"] == matched  # under the same rule, 0.01 less than `loss`


def test_losses_by_position_are_means_over_seeds_and_windows() -> None:
    assert by_position({"a": scores([3.0, 6.0])}) == [["a", 0, "6.000000"], ["a", 1, f"{(90 + 181) / 2 / 45:.6f}"]]


def test_losses_by_character_name_it_and_leave_out_what_does_not_occur() -> None:
    rows = by_character({"a": scores([1.0, 2.0])}, ["x", "\n", "é"])
    assert rows == [
        ["a", '"\\n"', "newline", 80, f"{(90 + 181) / 2 / 80:.6f}"],
        ["a", '"é"', "lower case", 10, "0.300000"],
    ]


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        ("\n\r\u2028", "newline"),
        (" \t\u3000", "space"),
        ("aéß", "lower case"),
        ("AÉ", "upper case"),
        ("語א", "letter"),
        ("09٣", "digit"),
        (".,!'-&$£+“", "punctuation"),
        ("\x00\u0301", "other"),
    ],
)
def test_characters_have_their_class(characters: str, expected: str) -> None:
    assert [character_class(character) for character in characters] == [expected] * len(characters)


def test_a_text_of_less_than_five_blocks_has_no_interval_over_it() -> None:
    runs = {"bigram": scores([2.0, 2.1]), "attention": scores([1.9, 2.0])}
    for score in (*runs["bigram"], *runs["attention"]):
        score["breakdown"] |= {"block_sums": [9.0] * 4, "block_counts": [5] * 4}
    found = summarise(runs)["difference"]
    assert found["text_low"] is found["text_high"] is None
    assert found["seeds_low"] is not None


def test_an_infinite_loss_of_counts_is_left_out() -> None:
    counts = {"unigram": {"train_loss": 3.0, "val_loss": math.inf, "val_loss_full": math.inf}}
    assert summarise({"attention": scores([2.0])}, counts)["counts"] == {"unigram": {"train_loss": 3.0}}
