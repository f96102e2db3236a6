"""The figures of the comparison against arithmetic by hand."""

import math
from typing import Any

import pytest

from charlm.comparison import bits, mean_and_sd, summarise
from charlm.errors import CharlmError

COUNTS = {"uniform": {"train_loss": 4.17438727, "val_loss": 4.17438727}, "bigram_ml": {"train_loss": 2.45188888}}


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
    }


def test_the_difference_is_the_second_model_minus_the_first_seed_by_seed() -> None:
    # The models' own deviations are 1; the pairs' differences are -0.1, -0.2 and -0.3.
    found = summarise({"bigram": scores([2.0, 3.0, 4.0]), "attention": scores([1.9, 2.8, 3.7])}, COUNTS)
    assert found["difference"] == {
        "val_loss": -0.2,
        "val_loss_sd": 0.1,
        "val_bits": round(-0.2 / math.log(2), 6),
        "val_bits_sd": round(0.1 / math.log(2), 6),
    }


def test_a_single_seed_has_no_deviation() -> None:
    found = summarise({"bigram": scores([2.0]), "attention": scores([1.5])}, COUNTS)
    assert found["models"]["bigram"]["val_loss_sd"] is None
    assert found["difference"]["val_loss"] == -0.5
    assert found["difference"]["val_loss_sd"] is None
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
