"""A third model, added as CONTRIBUTING.md says: two new files, two changed, and all that follows takes it as it is."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pipeline.closure import code_of
from tests.pipeline.repository import ROOT, Repository

MODEL = '''"""What each of the last two characters says for itself, added up."""

import torch.nn.functional as F
from torch import Tensor, nn

from charlm.models.contract import LanguageModel


class AdditiveLanguageModel(LanguageModel):
    """A table for the last token and one for the token before it; where there is none, that has a row of its own."""

    def __init__(self, *, vocab_size: int, block_size: int) -> None:
        super().__init__(vocab_size=vocab_size, block_size=block_size, context=2)
        self.last = nn.Embedding(vocab_size, vocab_size)
        self.before = nn.Embedding(vocab_size + 1, vocab_size)

    def logits(self, idx: Tensor) -> Tensor:
        """Return the sum (B, T, V) of both tables' rows."""
        before = F.pad(idx[:, :-1], (1, 0), value=self.vocab_size)  # (B, T)
        logits: Tensor = self.last(idx) + self.before(before)
        return logits
'''


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file.name} has {text.count(old)} times: {old}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def add_model(root: Path) -> None:
    """Do what the page says, by hand where a person would."""
    (root / "src/charlm/models/additive.py").write_text(MODEL, encoding="utf-8")
    stage = (root / "stages/train_bigram.py").read_text(encoding="utf-8")
    stage = stage.replace("bigram", "additive").replace("Bigram", "Additive")
    (root / "stages/train_additive.py").write_text(stage, encoding="utf-8")

    replace(root / "params.yaml", "\nattention:\n", "\nadditive:\n  learning_rate: 0.01\n\nattention:\n")
    replace(root / "params.yaml", "models: [bigram, attention]", "models: [bigram, attention, additive]")

    pipeline = (root / "dvc.yaml").read_text(encoding="utf-8")
    bigram = pipeline[pipeline.index("  train_bigram:\n") : pipeline.index("  train_attention:\n")]
    (root / "dvc.yaml").write_text(
        pipeline.replace(bigram, bigram + bigram.replace("bigram", "additive")), encoding="utf-8"
    )
    for before, own, after in (
        ("checkpoints/attention", "checkpoints/additive", "checkpoints/bigram"),
        ("src/charlm/models/attention.py", "src/charlm/models/additive.py", "src/charlm/models/bigram.py"),
        ("reports/curves/attention.csv", "reports/curves/additive.csv", "reports/curves/bigram.csv"),
    ):
        old = f"      - {before}\n      - {after}\n"
        replace(root / "dvc.yaml", old, f"      - {before}\n      - {own}\n      - {after}\n")


def test_a_third_model_is_trained_scored_and_reported(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = repository.files()
    add_model(repository.path)

    monkeypatch.chdir(repository.path)
    stages: dict[str, dict[str, Any]] = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for name in ("train_additive", "evaluate"):
        listed = {path for path in stages[name]["deps"] if path.startswith(("src/", "stages/"))}
        assert listed == code_of(name)

    assert repository.repro() == ["train_additive", "evaluate", "plot"], "the other models are not trained again"

    found = repository.json("dvc", "metrics", "show", "--json")[""]["data"]["reports/metrics.json"]["data"]
    assert list(found["models"]) == ["bigram", "attention", "additive"]
    V = len({*Path("data/raw/corpus.txt").read_text(encoding="utf-8")})
    assert found["models"]["additive"]["parameters"] == V * V + (V + 1) * V
    after = repository.files()
    for page in ("reports/report.md", "reports/report.html"):
        assert b"additive" not in before[page]
        assert b"additive" in after[page]
        assert f"{found['models']['additive']['val_loss']:.4f}".encode() in after[page]
    assert after["reports/figures/loss_curves.png"] != before["reports/figures/loss_curves.png"]

    repository.run("git", "add", "--all")
    repository.run("git", "commit", "--quiet", "--message", "A third model")
    repository.environment["PYTHONPATH"] = str(ROOT)
    repository.run(sys.executable, "-m", "tools.check")
    assert repository.run("git", "status", "--porcelain") == ""
