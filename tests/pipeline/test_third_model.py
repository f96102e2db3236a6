"""A third model, added as CONTRIBUTING.md says: two new files, two changed, and all that follows takes it as it is."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pipeline.closure import code_of
from tests.pipeline.repository import ROOT, Repository

NAME = "trial"  # not the page's `additive`, so that who tries that one is in nobody's way

MODEL = '''"""What each of the last two characters says for itself, added up."""

import torch.nn.functional as F
from torch import Tensor, nn

from charlm.models.contract import LanguageModel


class TrialLanguageModel(LanguageModel):
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


# Of dvc.yaml, where to look from, and bigram's part there, of which the new model gets a copy.
PARTS = (
    ("stages:\n", r"  train_bigram:\n(?:    .*\n|\n)+"),
    ("  evaluate:\n", r"      - checkpoints/bigram\n"),
    ("  evaluate:\n", r"      - src/charlm/models/bigram\.py\n"),
    ("  plot:\n", r"      - reports/curves/bigram\.csv\n"),
    ("\nplots:\n", r"        reports/curves/bigram\.csv: .*\n"),
    ("\nartifacts:\n", r"  bigram:\n(?:    .*\n)+"),
)


def change(file: Path, pattern: str, new: str) -> None:
    changed, count = re.subn(pattern, new, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, f"{file.name} has {count} times: {pattern}"
    file.write_text(changed, encoding="utf-8")


def copy_bigrams(file: Path, begin: str, pattern: str) -> None:
    head, found, rest = file.read_text(encoding="utf-8").partition(begin)
    part = re.search(pattern, rest)
    assert found
    assert part, f"{file.name} has nothing like {pattern} after {begin}"
    rest = rest[: part.end()] + part[0].replace("bigram", NAME) + rest[part.end() :]
    file.write_text(head + begin + rest, encoding="utf-8")


def add_model(root: Path) -> None:
    """Do what the page says, by hand where a person would."""
    (root / f"src/charlm/models/{NAME}.py").write_text(MODEL, encoding="utf-8")
    stage = (root / "stages/train_bigram.py").read_text(encoding="utf-8")
    stage = stage.replace("bigram", NAME).replace("Bigram", NAME.title())
    (root / f"stages/train_{NAME}.py").write_text(stage, encoding="utf-8")

    change(root / "params.yaml", r"^attention:\n", f"{NAME}:\n  learning_rate: 0.01\n\nattention:\n")
    change(root / "params.yaml", r"models: \[(.*)\]", rf"models: [\1, {NAME}]")
    for begin, pattern in PARTS:
        copy_bigrams(root / "dvc.yaml", begin, pattern)


def test_a_third_model_is_trained_scored_and_reported(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = repository.files()
    models = list(json.loads(before["reports/metrics.json"])["models"])
    add_model(repository.path)
    repository.run("git", "add", "--all")
    assert repository.run("git", "diff", "--cached", "--name-status").split("\n") == [
        "M\tdvc.yaml",
        "M\tparams.yaml",
        f"A\tsrc/charlm/models/{NAME}.py",
        f"A\tstages/train_{NAME}.py",
        "",
    ]

    monkeypatch.chdir(repository.path)
    pipeline: dict[str, Any] = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))
    for name in (f"train_{NAME}", "evaluate"):
        listed = {path for path in pipeline["stages"][name]["deps"] if path.startswith(("src/", "stages/"))}
        assert listed == code_of(name)

    assert repository.repro() == [f"train_{NAME}", "evaluate", "plot"], "the other models are not trained again"

    found = repository.json("dvc", "metrics", "show", "--json")[""]["data"]["reports/metrics.json"]["data"]["models"]
    assert list(found) == [*models, NAME]
    V = len({*Path("data/raw/corpus.txt").read_text(encoding="utf-8")})
    assert found[NAME]["parameters"] == V * V + (V + 1) * V
    after = repository.files()
    for page in ("reports/report.md", "reports/report.html"):
        assert NAME.encode() not in before[page]
        assert NAME.encode() in after[page]
        assert f"{found[NAME]['val_loss']:.4f}".encode() in after[page]
    assert after["reports/figures/loss_curves.png"] != before["reports/figures/loss_curves.png"]

    charts = [chart for named in repository.json("dvc", "plots", "show", "--json")["data"].values() for chart in named]
    [curves] = [chart["content"] for chart in charts if "facet" in chart.get("content", {})]
    assert {Path(row["filename"]).stem for row in curves["data"]["values"]} == {*models, NAME}

    repository.commit("A third model")
    repository.environment["PYTHONPATH"] = str(ROOT)
    repository.run(sys.executable, "-m", "tools.check")
    assert repository.run("git", "status", "--porcelain") == ""
