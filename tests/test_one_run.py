"""A run that carries on from what was kept changes no bit of the result.

The models are so small that a run takes milliseconds.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm import resume, training
from charlm.adamw import AdamW
from charlm.models.contract import LanguageModel
from charlm.training import CurvePoint
from tests.small_run import MODELS, go_where_tokens_are, run


@pytest.fixture(autouse=True)
def _where_tokens_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_where_tokens_are(tmp_path, monkeypatch)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("died", [[0], [2], [4], [6], [0, 2, 4, 6]])
@pytest.mark.parametrize("rate", [{"schedule": "constant"}, {"schedule": "cosine", "warmup_steps": 3}])
def test_a_run_that_died_ends_with_the_same_bytes(model: str, died: list[int], rate: dict[str, Any]) -> None:
    assert run("whole", model=model, **rate)[0] == [0, 2, 4, 6]
    for step in died:
        run("other", model=model, die_at=step, **rate)
    steps, said = run("other", model=model, **rate)
    assert steps == [step for step in (0, 2, 4, 6) if step > died[-1]], "the interval that was lost, and no other"
    assert said == [f"after {died[-1]}"]
    assert Path("other").read_bytes() == Path("whole").read_bytes()


@pytest.mark.parametrize(
    ("turn", "begins"),
    [(1, [2, 4, 6, 8]), (2, [2, 4, 6, 8]), (3, [4, 8]), (4, [4, 8]), (5, [6]), (8, [8]), (9, []), (100, [])],
)
@pytest.mark.parametrize("model", MODELS)
def test_in_turns_it_ends_with_the_same_bytes(model: str, turn: int, begins: list[int]) -> None:
    whole = run("whole", model=model, steps=9)
    assert run("other", model=model, steps=9, turn=turn) == (whole[0], [f"after {step}" for step in begins])
    assert Path("other").read_bytes() == Path("whole").read_bytes()


def test_a_run_that_died_may_carry_on_in_turns() -> None:
    run("whole")
    run("other", die_at=2)
    assert run("other", turn=2) == ([4, 6], ["after 2", "after 4"])
    assert Path("other").read_bytes() == Path("whole").read_bytes()


def test_the_curve_is_that_of_a_run_never_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[list[dict[str, Any]]] = []
    save = resume.save

    def watch(path: Path, of: str, model: LanguageModel, optimizer: AdamW, curve: list[CurvePoint]) -> None:
        saved.append([asdict(point) for point in curve])
        save(path, of, model, optimizer, curve)

    monkeypatch.setattr(resume, "save", watch)
    run("whole")
    whole = saved[-1]
    run("other", die_at=4)
    run("other")
    assert saved[-1] == whole


def test_a_complete_state_only_writes_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    run("whole")
    run("other", die_at=6)
    assert not Path("other").exists()
    monkeypatch.setattr(training, "batch", pytest.fail)
    monkeypatch.setattr(training, "measure", pytest.fail)
    monkeypatch.setattr(resume, "save", pytest.fail)
    assert run("other") == ([], ["after 6"])
    assert Path("other").read_bytes() == Path("whole").read_bytes()


def forget_optimizer(
    model: LanguageModel, optimizer: AdamW, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    optimizer.load_state({name: torch.zeros_like(tensor) for name, tensor in optimizer.state().items()})
    return found


def forget_weights(
    model: LanguageModel, optimizer: AdamW, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    model.load_state_dict(fresh)
    return found


def forget_the_last_point(
    model: LanguageModel, optimizer: AdamW, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    return found[:-1]


@pytest.mark.parametrize("forget", [forget_optimizer, forget_weights, forget_the_last_point])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_carries_on_without_one_part_of_its_state_ends_with_other_bytes(
    model: str, forget: Callable[..., list[CurvePoint]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests above would show nothing."""
    run("whole", model=model)
    run("other", model=model, die_at=2)
    whole = resume.load

    def load_without(
        path: Path, of: str, network: LanguageModel, optimizer: AdamW, say: Callable[[str], None]
    ) -> list[CurvePoint]:
        fresh = {name: weight.clone() for name, weight in network.state_dict().items()}
        return forget(network, optimizer, whole(path, of, network, optimizer, say), fresh)

    monkeypatch.setattr(resume, "load", load_without)
    assert run("other", model=model)[1] in (["after 2"], ["after 0"])
    assert Path("other").read_bytes() != Path("whole").read_bytes()
