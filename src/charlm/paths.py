"""Where every artifact lies, seen from the repository's root, where DVC runs each stage."""

from pathlib import Path

PARAMS = Path("params.yaml")

CORPUS = Path("data/raw/corpus.txt")
VOCABULARY = Path("data/tokens/vocabulary.json")
TRAIN_TOKENS = Path("data/tokens/train.npy")
VAL_TOKENS = Path("data/tokens/val.npy")

METRICS = Path("reports/metrics.json")
SAMPLES = Path("reports/samples.json")
LOSS_CURVES = Path("reports/figures/loss_curves.png")
REPORT = Path("reports/report.md")


def checkpoint(model: str, seed: int) -> Path:
    """Where the trained weights of one run of `model` lie."""
    return Path("checkpoints") / model / f"seed-{seed}.safetensors"


def curve(model: str) -> Path:
    """Where the loss curves of all runs of `model` lie."""
    return Path("reports/curves") / f"{model}.csv"
