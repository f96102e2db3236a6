"""Settings are tried on the train text alone, both models alike."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import yaml

from charlm import paths
from charlm.errors import CharlmError
from charlm.models.bigram import BigramLanguageModel
from charlm.splits import save_tokens
from charlm.vocabulary import Vocabulary
from tests.pipeline.repository import ROOT
from tools import tune
from tools.tune import Outcome, Setting, choose, command

TINIEST = 1e-12  # a learning rate that leaves a model as it was


def tokens(count: int) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    return np.random.default_rng(5).integers(0, 5, count).astype(np.uint8)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with parameters and a train text; without a validation text, so that none can be read."""
    sections = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    sections["train"] |= {"steps": 1, "batch_size": 2, "block_size": 4, "seeds": [3, 4]}
    (tmp_path / paths.PARAMS).write_text(yaml.safe_dump(sections), encoding="utf-8")
    Vocabulary.of("abcde").save(tmp_path / paths.VOCABULARY)
    save_tokens(tmp_path / paths.TRAIN_TOKENS, tokens(400))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHARLM_JOBS", "1")
    return tmp_path


def test_the_last_tenth_of_train_is_scored_and_no_validation_text_is_there(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tune", "--rates", str(TINIEST), "--out", "out/table.csv"])
    tune.main()
    table = (place / "out/table.csv").read_text(encoding="utf-8")
    said = capsys.readouterr().out.splitlines()
    assert said[:-1] == table.splitlines()
    header, *rows = [line.split(",") for line in table.splitlines()]
    assert header == ["model", "schedule", "learning_rate", "seeds", "loss", "loss_sd"]
    assert [row[:4] for row in rows] == [
        [model, schedule, "1e-12", "2"] for model in ("bigram", "attention") for schedule in ("constant", "cosine")
    ]

    held_out = torch.from_numpy(tokens(400)[360:].astype("int64"))
    losses = []
    for seed in (3, 4):
        torch.manual_seed(seed)
        table_of_logits = BigramLanguageModel(vocab_size=5, block_size=4).logits(held_out[None, :-1])[0]
        losses.append(F.cross_entropy(table_of_logits, held_out[1:]).item())
    for row in rows[:2]:
        assert [float(value) for value in row[4:]] == pytest.approx([np.mean(losses), np.std(losses, ddof=1)], abs=1e-5)
    assert not (place / paths.VAL_TOKENS).exists()
    kept, scored = (np.load(place / tune._FOLDER / path) for path in (paths.TRAIN_TOKENS, paths.VAL_TOKENS))
    assert kept.tolist() == tokens(400)[:360].tolist(), "no run trains on what it is scored on"
    assert scored.tolist() == tokens(400)[360:].tolist()


def test_runs_that_were_done_are_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tune", "--rates", "0.01", "--seeds", "1"])
    tune.main()
    table = (place / tune.TABLE).read_bytes()
    states = {path: path.stat().st_mtime_ns for path in place.glob(".runs/tune/*.state")}
    assert len(states) == 4
    monkeypatch.setattr("sys.argv", ["tune", "--rates", "0.01", "0.02", "--seeds", "1"])
    tune.main()
    assert {path: path.stat().st_mtime_ns for path in states} == states
    assert set(table.splitlines()) < set((place / tune.TABLE).read_bytes().splitlines())


def outcome(model: str, schedule: str, rate: float, *losses: float) -> Outcome:
    return Outcome(Setting(model, schedule, rate), losses)


def test_the_models_share_the_schedule_that_serves_both_and_have_their_own_rates() -> None:
    chosen = choose([
        outcome("bigram", "constant", 0.01, 2.50, 2.52),
        outcome("bigram", "cosine", 0.01, 2.53),
        outcome("bigram", "cosine", 0.03, 2.52),
        outcome("attention", "constant", 0.01, 2.40),
        outcome("attention", "cosine", 0.01, 2.30),
        outcome("attention", "cosine", 0.03, 2.29, 2.35),
    ])  # fmt: skip
    assert chosen == [Setting("bigram", "cosine", 0.03), Setting("attention", "cosine", 0.01)]
    assert command(chosen) == (
        "dvc exp run -S train.schedule=cosine -S bigram.learning_rate=0.03 -S attention.learning_rate=0.01"
    )


def test_a_rate_at_the_end_of_the_grid_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tune", "--rates", "1e-9", "2", "--seeds", "1"])
    tune.main()
    assert (place / tune.TABLE).exists()
    said = capsys.readouterr().err
    assert "rate did best; try" in said


def test_what_can_be_mended_is_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tune", "--seeds", "3"])
    with pytest.raises(CharlmError, match=r"^--seeds is 3; train\.seeds has 2, and one is the least$"):
        tune.main()
    (place / paths.TRAIN_TOKENS).write_bytes(b"junk")
    monkeypatch.setattr("sys.argv", ["tune"])
    with pytest.raises(CharlmError, match=r"^data/tokens/train\.npy is no token file; run `dvc repro tokenize`"):
        tune.main()
    (place / paths.TRAIN_TOKENS).unlink()
    monkeypatch.setattr("sys.argv", ["tune"])
    with pytest.raises(CharlmError, match=r"^data/tokens/train\.npy is not here; run `dvc repro tokenize`$"):
        tune.main()
    monkeypatch.setattr("sys.argv", ["tune", "--rates", "11"])
    with pytest.raises(SystemExit, match="2"):
        tune.main()
    assert "'11' is no number above 0 and up to 10" in capsys.readouterr().err
