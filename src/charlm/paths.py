"""Where every artifact lies, seen from the repository's root, where DVC runs each stage."""

from pathlib import Path

PARAMS = Path("params.yaml")

CORPUS = Path("data/raw/corpus.txt")
VOCABULARY = Path("data/tokens/vocabulary.json")
TRAIN_TOKENS = Path("data/tokens/train.npy")
VAL_TOKENS = Path("data/tokens/val.npy")

METRICS = Path("reports/metrics.json")
SAMPLES = Path("reports/samples.json")
POSITIONS = Path("reports/details/positions.csv")
CHARACTERS = Path("reports/details/characters.csv")
PAIRS = Path("reports/details/pairs.json")
ATTENTION = Path("reports/details/attention.json")
PROVENANCE = Path("reports/details/provenance.json")

FIGURES = Path("reports/figures")
REPORT = Path("reports/report.md")
HTML_REPORT = Path("reports/report.html")


def checkpoint(model: str, seed: int) -> Path:
    """Where the trained weights of one run of `model` lie."""
    return Path("checkpoints") / model / f"seed-{seed}.safetensors"


def curve(model: str) -> Path:
    """Where the loss curves of all runs of `model` lie."""
    return Path("reports/curves") / f"{model}.csv"


def figure(name: str) -> Path:
    """Where the picture of that name lies."""
    return FIGURES / f"{name}.png"


def state(model: str, seed: int) -> Path:
    """Where a run under way keeps how far it has come: outside DVC's outputs, and not in Git."""
    return Path(".runs") / model / f"seed-{seed}.state"


def lock(model: str) -> Path:
    """What the process that trains `model` holds a lock on."""
    return Path(".runs") / f"{model}.lock"
