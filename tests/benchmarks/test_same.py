"""The plain loop computes what the program computes, and a loop that does not is found out."""

import json
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from benchmarks import reference, work
from benchmarks.__main__ import check_same
from benchmarks.harness import Ended
from benchmarks.program import new_model
from benchmarks.same import Difference, difference
from benchmarks.scene import Scene

pytestmark = pytest.mark.usefixtures("torch_as_before")
STEPS = 5


def difference_on(text: str, model: str) -> Difference:
    return difference(model, text[:100_000], numerics="native", steps=STEPS)


@pytest.mark.parametrize("model", work.MODELS)
def test_losses_and_weights_are_equal(model: str, corpus_text: str) -> None:
    found = difference_on(corpus_text, model)
    assert found.loss < 1e-6 < work.TOLERANCE
    assert found.weight < 1e-5
    assert 2 < found.last_loss < 6


@pytest.mark.parametrize(("model", "times"), [("bigram", 2), ("attention", 2), ("bigram", math.inf)])
def test_another_training_is_found_out(
    model: str, times: float, corpus_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = reference.train
    monkeypatch.setattr(reference, "train", lambda network, batches, rate: right(network, batches, times * rate))
    found = difference_on(corpus_text, model)
    assert not found.loss <= work.TOLERANCE
    assert math.isnan(found.loss) == math.isinf(times), "an endless step leaves no number, from the second loss on"


def said_of(loss: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes that compare, which take a minute, tell of this difference of the losses."""
    told = Ended(1.0, 1.0, 1.0, json.dumps({"loss": loss, "weight": 0.0}))
    monkeypatch.setattr(Scene, "program", lambda self, target, **_: told)
    check_same(Scene(Path(), Path(), []))


def test_a_difference_within_the_tolerance_is_said_and_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said_of(1e-5, monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "bigram, portable", "bigram, native", "attention, portable", "attention, native"
    ]  # fmt: skip
    assert all("over 200 steps the losses differ by at most 1.0e-05 nats" in line for line in lines)


@pytest.mark.parametrize("loss", [2e-4, math.nan])
def test_a_difference_beyond_it_ends_the_benchmark(loss: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"error: more than 0\.0001; the two do not compute the same"):
        said_of(loss, monkeypatch)


def test_the_plain_losses_are_those_of_torchs_own_attention(corpus_text: str) -> None:
    data, characters = reference.encode(corpus_text[:5000])
    torch.manual_seed(1)
    model = reference.Attention(len(characters), work.BLOCK_SIZE, 16, 8)
    idx, targets = reference.get_batch(data, 4, 20)
    logits, loss = model(idx, targets)
    x = model.token_embedding_table(idx) + model.position_embedding_table.weight[:20]
    gathered = F.scaled_dot_product_attention(model.query(x), model.key(x), model.value(x), is_causal=True)
    torch.testing.assert_close(logits, model.lm_head(gathered))
    torch.testing.assert_close(loss, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))


def test_plain_batches_are_windows_of_the_text(corpus_text: str) -> None:
    data, characters = reference.encode(corpus_text[:1000])
    x, y = reference.get_batch(data, 8, 10)
    assert x.shape == y.shape == (8, 10)
    for inputs, targets in zip(x, y, strict=True):
        window = "".join(characters[i] for i in [*inputs.tolist(), targets[-1].item()])
        assert window in corpus_text[:1000]
        assert inputs[1:].equal(targets[:-1])


def test_the_programs_weights_fit_the_plain_models() -> None:
    for name in work.MODELS:
        program = new_model(name, 65)
        plain = reference.model_of(name, 65, work.BLOCK_SIZE, work.N_EMBD)
        reference.load_weights(plain, program.state_dict())
        idx = torch.arange(64).view(2, 32)
        torch.testing.assert_close(plain(idx)[0], program(idx)[0])
