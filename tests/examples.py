"""Plausible content of the files that the plot stage reads."""

from typing import Any

TRAINED = {
    "bigram": {
        "parameters": 4225, "train_loss": 2.4582, "train_loss_sd": 0.0001, "val_loss": 2.4862, "val_loss_sd": 0.0013,
        "val_bits": 3.5868, "val_bits_sd": 0.0019, "val_perplexity": 12.0154, "val_perplexity_sd": 0.0156,
        "val_accuracy": 0.2734, "val_accuracy_sd": 0.0008,
    },
    "attention": {
        "parameters": 8321, "train_loss": 2.3715, "train_loss_sd": 0.008, "val_loss": 2.395, "val_loss_sd": 0.0101,
        "val_bits": 3.4553, "val_bits_sd": 0.0146, "val_perplexity": 10.9682, "val_perplexity_sd": 0.1108,
        "val_accuracy": 0.2961, "val_accuracy_sd": 0.0031,
    },
}  # fmt: skip
METRICS: dict[str, Any] = {
    "models": TRAINED,
    "difference": {"val_loss": -0.0912, "val_loss_sd": 0.0101, "val_bits": -0.1316, "val_bits_sd": 0.0146},
    "counts": {
        "uniform": {"train_loss": 4.1744, "val_loss": 4.1744},
        "unigram": {"train_loss": 3.3091, "val_loss": 3.3473},
        "bigram": {"train_loss": 2.4536, "val_loss": 2.4819},
        "bigram_ml": {"train_loss": 2.4519},
    },
    "tokens": {"train": 1003853, "val": 111539},
    "seeds": 5,
}
SAMPLES: dict[str, Any] = {
    "prompt": "\n",
    "seed": 1,
    "length": 400,
    "texts": [
        {"model": "bigram", "temperature": 1.0, "text": "The th"},
        {"model": "attention", "temperature": 0.8, "text": "KING"},
    ],
}
