"""What was kept of another run is not used, and what cannot be right is neither kept nor saved."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from charlm import one_run, paths, training
from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from tests.small_run import V, go_where_tokens_are, run


@pytest.fixture(autouse=True)
def _where_tokens_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_where_tokens_are(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": 7},
        {"batch_size": 3},
        {"learning_rate": 0.02},
        {"eval_interval": 3},
        {"schedule": "cosine"},
        {"warmup_steps": 3},
    ],
)
def test_a_run_with_other_parameters_starts_over(changed: dict[str, Any]) -> None:
    run("clean", **changed)
    run("other", die_at=4)
    steps, said = run("other", **changed)
    assert steps[0] == 0
    assert said == ["other.state is of a run with other parameters, data or code: not used"]
    assert Path("other").read_bytes() == Path("clean").read_bytes()


def test_a_run_on_other_data_starts_over_even_from_a_state_of_the_same_name() -> None:
    run("other", die_at=4)
    tokens = np.load(paths.TRAIN_TOKENS)
    tokens[7] = (tokens[7] + 1) % V
    np.save(paths.TRAIN_TOKENS, tokens)
    run("clean")
    steps, said = run("other")
    assert steps[0] == 0
    assert "other.state is of a run with other parameters, data or code" in said[0]
    assert Path("other").read_bytes() == Path("clean").read_bytes()


def test_data_that_changed_while_it_trained_are_refused_and_make_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    train = training.train

    def disturbed(*arguments: Any, **options: Any) -> Any:
        for point in train(*arguments, **options):
            if point.step == 2:
                np.save("other.npy", np.load(paths.VAL_TOKENS)[::-1].copy())
                Path("other.npy").replace(paths.VAL_TOKENS)
            yield point

    monkeypatch.setattr(one_run, "train", disturbed)
    with pytest.raises(CharlmError, match=r"^what lies in data/tokens changed while this ran"):
        run("disturbed")
    assert not Path("disturbed").exists()


# --- weights that are not finite --------------------------------------------------------------------------------


def test_weights_that_are_not_finite_are_neither_kept_nor_saved_though_the_loss_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row of the table that no scored text reads would show in no loss."""
    train = training.train

    def spoiled(network: LanguageModel, *rest: Any, **options: Any) -> Any:
        for point in train(network, *rest, **options):
            if point.step == 4:
                with torch.no_grad():
                    next(network.parameters())[0, 0] = float("nan")
            yield point

    monkeypatch.setattr(one_run, "train", spoiled)
    with pytest.raises(CharlmError, match=r"seed 1 has weights that are not finite at step 4.*0\.01 is probably too"):
        run("spoiled")
    assert not Path("spoiled").exists()
    content = Path("spoiled.state").read_bytes()
    header = json.loads(content[40 : 40 + int.from_bytes(content[32:40], "little")])
    assert [point["step"] for point in json.loads(header["__metadata__"]["run"])["curve"]] == [0, 2]
    assert all(torch.isfinite(tensor).all() for tensor in safetensors.torch.load(content[32:]).values())
