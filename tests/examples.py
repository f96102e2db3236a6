"""Plausible content of the files that the plot stage reads."""

import copy
import csv
import json
import math
from pathlib import Path
from typing import Any

TRAINED: dict[str, Any] = {
    "bigram": {
        "parameters": 4225, "train_loss": 2.4582, "train_loss_sd": 0.0001, "val_loss": 2.4862, "val_loss_sd": 0.0013,
        "val_loss_low": 2.4846, "val_loss_high": 2.4878, "val_loss_full": 2.4861, "val_loss_full_sd": 0.0014,
        "val_bits": 3.5868, "val_bits_sd": 0.0019, "val_perplexity": 12.0154, "val_perplexity_sd": 0.0156,
        "val_accuracy": 0.2734, "val_accuracy_sd": 0.0008, "counts_matched": 0,
    },
    "attention": {
        "parameters": 8321, "train_loss": 2.3715, "train_loss_sd": 0.008, "val_loss": 2.395, "val_loss_sd": 0.0101,
        "val_loss_low": 2.3825, "val_loss_high": 2.4075, "val_loss_full": 2.3887, "val_loss_full_sd": 0.0103,
        "val_bits": 3.4553, "val_bits_sd": 0.0146, "val_perplexity": 10.9682, "val_perplexity_sd": 0.1108,
        "val_accuracy": 0.2961, "val_accuracy_sd": 0.0031, "counts_matched": 1,
    },
}  # fmt: skip
METRICS: dict[str, Any] = {
    "models": TRAINED,
    "difference": {
        "val_loss": -0.0912, "val_loss_sd": 0.0101, "val_bits": -0.1316, "val_bits_sd": 0.0146,
        "val_loss_full": -0.0974, "val_loss_full_sd": 0.0104, "seeds_low": -0.1037, "seeds_high": -0.0787,
        "text_low": -0.0953, "text_high": -0.0871, "block_length": 1000, "resamples": 2000,
    },
    "floor": {"bigram_train_gap": 0.0063, "bigram_train_gap_min": 0.0061},
    "counts": {
        "uniform": {"train_loss": 4.1744, "val_loss": 4.1744, "val_loss_full": 4.1744},
        "unigram": {"train_loss": 3.3091, "val_loss": 3.3473, "val_loss_full": 3.3472},
        "bigram": {"train_loss": 2.4536, "val_loss": 2.4819, "val_loss_full": 2.4818},
        "bigram_ml": {"train_loss": 2.4519},
        "kneser_ney_1": {"val_loss": 2.4835, "val_loss_full": 2.4834},
        "kneser_ney_2": {"val_loss": 2.0702, "val_loss_full": 2.0381},
        "kneser_ney_3": {"val_loss": 1.7872, "val_loss_full": 1.7191},
    },
    "tokens": {"train": 1003853, "val": 111539},
    "seeds": 5,
    "block_size": 6,
}  # fmt: skip
SAMPLES: dict[str, Any] = {
    "prompt": "\n",
    "seed": 1,
    "length": 400,
    "texts": [
        {"model": "bigram", "temperature": 0.5, "text": "Tthe th"},
        {"model": "bigram", "temperature": 1.0, "text": "Wan:\n\nAn ke"},
        {"model": "attention", "temperature": 0.5, "text": "KING"},
        {"model": "attention", "temperature": 1.0, "text": "The he\n\n\nrs bollde"},
    ],
}
POSITIONS = {
    "bigram": [2.4871, 2.4712, 2.4823, 2.5034, 2.4945, 2.4786],
    "attention": [2.6137, 2.3978, 2.4019, 2.4041, 2.3812, 2.3723],
}
CHARACTERS: list[tuple[str, str, int, dict[str, float]]] = [
    (" ", "space", 200, {"bigram": 1.3312, "attention": 1.1123}),
    ("\n", "newline", 50, {"bigram": 1.2413, "attention": 0.9934}),
    ("e", "lower case", 400, {"bigram": 2.1535, "attention": 2.1216}),
    ("t", "lower case", 300, {"bigram": 2.4117, "attention": 2.4718}),
    ("I", "upper case", 20, {"bigram": 3.4219, "attention": 3.2521}),
    (",", "punctuation", 23, {"bigram": 3.9922, "attention": 3.8523}),
    (".", "punctuation", 7, {"bigram": 4.9924, "attention": 4.8525}),
]


def _likeliest(*characters: str) -> list[list[Any]]:
    return [[character, round(0.41 / rank, 4)] for rank, character in enumerate(characters, start=1)]


PAIRS: list[dict[str, Any]] = [
    {
        "left": "cat", "right": "hat", "found": False, "distance": {"bigram": 0.0, "attention": 0.0649},
        "predictions": {
            "bigram": {"left": _likeliest("h", " ", "o", "e", "\n"), "right": _likeliest("h", " ", "o", "e", "\n")},
            "attention": {"left": _likeliest(" ", "h", "e", "|", "`"), "right": _likeliest("s", " ", "h", "<", "&")},
        },
    },
    {
        "left": "ho?\n\nARI", "right": "n, I", "found": True, "distance": {"bigram": 0.0, "attention": 0.9168},
        "predictions": {
            "bigram": {"left": _likeliest(" ", "N"), "right": _likeliest(" ", "N")},
            "attention": {"left": _likeliest("C", "D"), "right": _likeliest(" ", "n")},
        },
    },
]  # fmt: skip
ATTENTION: dict[str, Any] = {
    "attention": {
        "text": "A b\nc",
        "weights": [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.4, 0.6, 0.0, 0.0, 0.0],
            [0.1, 0.2, 0.7, 0.0, 0.0],
            [0.05, 0.05, 0.1, 0.8, 0.0],
            [0.333333, 0.333333, 0.333333, 0.0, 0.0],
        ],
        "by_distance": [0.7413, 0.1514, 0.0615, 0.0316, 0.0127, 0.0098],
    }
}
PROVENANCE: dict[str, Any] = {
    "corpus_sha256": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    "torch": "2.13.0",
    "corpus_characters": 1115394,
    "vocabulary_size": 65,
    "models": {
        "bigram": {"block_size": 6, "vocab_size": 65, "learning_rate": 0.01, "seed": 1, "steps": 5000},
        "attention": {"block_size": 6, "n_embd": 33, "learning_rate": 0.001, "seed": 1, "steps": 5000},
    },
    "train": {"block_size": 6, "batch_size": 31, "steps": 5000, "eval_interval": 250, "seeds": [1, 2, 3, 4, 5]},
    "compute": {"device": "cpu", "numerics": "portable"},
    "evaluate": {"models": ["bigram", "attention"], "context_pairs": [["cat", "hat"]], "prompt": "", "found_pairs": 1},
}  # fmt: skip
CURVE = "seed,step,train_loss,val_loss\n" + "".join(
    f"{seed},{step},{2.4 + 2 / (1 + step) + seed / 100:.6f},{2.45 + 2 / (1 + step):.6f}\n"
    for seed in (1, 2)
    for step in range(0, 101, 10)
)


# What differs where train.block_size is 1.
ONE_CHARACTER_IN_SIGHT: dict[str, Any] = {
    "metrics": METRICS | {"block_size": 1},
    "positions": {"bigram": [2.4871], "attention": [2.4912]},
    "attention": {"attention": {"text": "A", "weights": [[1.0]], "by_distance": [1.0]}},
}


def write_results(root: Path, **changed: Any) -> None:
    """Write all that the plot stage reads under `root`; a keyword (metrics, pairs, ...) replaces the example."""
    found: dict[str, Any] = {
        "metrics": METRICS, "samples": SAMPLES, "positions": POSITIONS, "characters": CHARACTERS, "pairs": PAIRS,
        "attention": ATTENTION, "provenance": PROVENANCE,
    }  # fmt: skip
    found |= changed
    details = root / "reports/details"
    details.mkdir(parents=True, exist_ok=True)
    (root / "reports/curves").mkdir(exist_ok=True)
    for model in found["metrics"]["models"]:
        (root / f"reports/curves/{model}.csv").write_text(CURVE, encoding="utf-8")
    for name in ("metrics", "samples"):
        (root / f"reports/{name}.json").write_text(json.dumps(found[name]), encoding="utf-8")
    for name in ("pairs", "attention", "provenance"):
        (details / f"{name}.json").write_text(json.dumps(found[name]), encoding="utf-8")
    with (details / "positions.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [[model, i, loss] for model, losses in found["positions"].items() for i, loss in enumerate(losses)]
        csv.writer(file, lineterminator="\n").writerows([["model", "position", "loss"], *rows])
    with (details / "characters.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [
            [model, json.dumps(character), kind, count, loss]
            for character, kind, count, losses in found["characters"]
            for model, loss in losses.items()
        ]
        csv.writer(file, lineterminator="\n").writerows([["model", "character", "class", "count", "loss"], *rows])


def with_difference(**changed: float | None) -> dict[str, Any]:
    """The metrics with another difference."""
    metrics = copy.deepcopy(METRICS)
    metrics["difference"] |= changed
    if "val_loss" in changed:
        assert changed["val_loss"] is not None
        metrics["difference"]["val_bits"] = round(changed["val_loss"] / math.log(2), 4)
    return metrics


def one_seed() -> dict[str, Any]:
    """The metrics of a single seed: no spread over seeds and no interval."""
    metrics = with_difference(seeds_low=None, seeds_high=None)
    for part in (metrics["difference"], *metrics["models"].values()):
        part |= {key: None for key in part if key.endswith("_sd") or key in ("val_loss_low", "val_loss_high")}
    return metrics | {"seeds": 1}


def one_model(name: str = "bigram") -> dict[str, Any]:
    """The metrics of a single model: nothing to compare it with."""
    metrics = copy.deepcopy(METRICS) | {"models": {name: TRAINED[name]}}
    del metrics["difference"]
    return metrics
