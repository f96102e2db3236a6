"""Scores are exact, and a model that knows the future is found out."""

import math
import random
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm import evaluation
from charlm.errors import CharlmError
from charlm.evaluation import break_down, check_causality, score
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.tokens import Batch, Tokens, consecutive_windows, overlapping_windows

CPU = torch.device("cpu")
V, T = 7, 6
TEXT: Tokens = np.random.default_rng(1).integers(0, V, 101).astype(np.uint8)  # 100 targets: 16 windows and 4 more


def attention() -> AttentionLanguageModel:
    torch.manual_seed(3)
    return AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=5, head_size=4)


def bigram() -> BigramLanguageModel:
    torch.manual_seed(4)
    return BigramLanguageModel(vocab_size=V, block_size=T)


@pytest.mark.parametrize("model", [attention(), bigram()], ids=["attention", "bigram"])
@pytest.mark.parametrize("size", [101, 97, 5], ids=["ragged tail", "no tail", "tail alone"])
def test_the_loss_and_accuracy_are_those_of_targets_scored_one_by_one(model: LanguageModel, size: int) -> None:
    text: list[int] = TEXT[:size].tolist()
    losses, hits = [], 0
    for place in range(1, size):
        first = (place - 1) // T * T  # where the window of this target begins
        logits: list[float] = model(torch.tensor([text[first:place]]))[0][0, -1].tolist()
        losses.append(math.log(math.fsum(math.exp(logit) for logit in logits)) - logits[text[place]])
        hits += logits.index(max(logits)) == text[place]

    found = score(model, consecutive_windows(TEXT[:size], T), CPU)
    assert found.tokens == size - 1 == len(losses)
    assert found.loss == pytest.approx(math.fsum(losses) / len(losses), rel=1e-6)
    assert found.accuracy == hits / len(losses)


@pytest.mark.parametrize("size", [101, 97, 7, 5])
@pytest.mark.parametrize("context", [1, 3, T])
def test_with_full_context_each_target_is_scored_from_the_tokens_before_it(size: int, context: int) -> None:
    text: list[int] = TEXT[:size].tolist()
    model = attention()
    losses = []
    for windows in overlapping_windows(TEXT[:size], T, context):
        for inputs, nexts in zip(windows[0].tolist(), windows[1].tolist(), strict=True):
            logits = model(torch.tensor([inputs]))[0][0, -len(nexts) :].tolist()
            for row, target in zip(logits, nexts, strict=True):
                losses.append(math.log(math.fsum(math.exp(logit) for logit in row)) - row[target])
    found = score(model, overlapping_windows(TEXT[:size], T, context), CPU)
    assert found.tokens == size - 1 == len(losses)
    assert found.loss == pytest.approx(math.fsum(losses) / len(losses), rel=1e-6)
    if context == T and size > T:
        last: list[float] = model(torch.tensor([text[-T - 1 : -1]]))[0][0, -1].tolist()
        alone = math.log(math.fsum(math.exp(logit) for logit in last)) - last[text[-1]]
        assert losses[-1] == pytest.approx(alone, rel=1e-6)


def test_the_breakdown_holds_each_targets_loss_once_in_its_block_its_place_and_its_token() -> None:
    model = attention()
    blocks: dict[int, list[float]] = {}
    places: dict[int, list[float]] = {}
    tokens: dict[int, list[float]] = {}
    for target in range(1, 101):
        first = (target - 1) // T * T
        logits: list[float] = model(torch.tensor([TEXT[first:target].tolist()]))[0][0, -1].tolist()
        loss = math.log(math.fsum(math.exp(logit) for logit in logits)) - logits[TEXT[target]]
        for part, key in ((blocks, (target - 1) // 30), (places, (target - 1) % T), (tokens, int(TEXT[target]))):
            part.setdefault(key, []).append(loss)

    found = break_down(model, TEXT, 30, CPU)
    for part, sums, counts in (
        (blocks, found.block_sums, found.block_counts),
        (places, found.position_sums, found.position_counts),
        (tokens, found.token_sums, found.token_counts),
    ):
        assert counts == [len(part.get(key, [])) for key in range(len(counts))]
        assert sums == pytest.approx([math.fsum(part.get(key, [])) for key in range(len(sums))], rel=1e-6)
    assert len(found.block_sums) == 4
    assert len(found.position_sums) == T
    assert len(found.token_sums) == V


@settings(deadline=None, max_examples=30)
@given(cuts=st.sets(st.integers(1, 15)), order=st.randoms(use_true_random=False))
def test_the_score_does_not_depend_on_how_windows_are_batched(cuts: set[int], order: random.Random) -> None:
    idx, targets = next(iter(consecutive_windows(TEXT[:97], T)))  # 16 windows
    edges = [0, *sorted(cuts), 16]
    batches: list[Batch] = [(idx[a:b], targets[a:b]) for a, b in pairwise(edges)]
    order.shuffle(batches)
    for model, tolerance in ((bigram(), 1e-15), (attention(), 1e-6)):
        whole, parts = score(model, [(idx, targets)], CPU), score(model, batches, CPU)
        assert parts.loss == pytest.approx(whole.loss, rel=tolerance)
        assert (parts.accuracy, parts.tokens) == (whole.accuracy, whole.tokens)


@pytest.mark.parametrize("at_once", [1, V * T, 3 * V * T + 1, 1 << 22])
def test_the_score_does_not_depend_on_how_many_logits_are_made_at_a_time(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score(attention(), consecutive_windows(TEXT, T), CPU), break_down(attention(), TEXT, 30, CPU)
    sizes = []

    class Watched(AttentionLanguageModel):
        """The same model, which notes how many logits it is asked for."""

        def logits(self, idx: torch.Tensor) -> torch.Tensor:
            sizes.append(idx.numel() * V)
            return super().logits(idx)

    watched = Watched(vocab_size=V, block_size=T, n_embd=5, head_size=4)
    watched.load_state_dict(attention().state_dict())
    monkeypatch.setattr(evaluation, "_LOGITS_AT_ONCE", at_once)
    parts = score(watched, consecutive_windows(TEXT, T), CPU), break_down(watched, TEXT, 30, CPU)
    assert max(sizes) <= max(at_once, V * T), "and a window is never cut"
    assert sum(sizes) == 2 * 100 * V
    assert parts[0].loss == pytest.approx(whole[0].loss, rel=1e-6)
    assert (parts[0].accuracy, parts[0].tokens) == (whole[0].accuracy, whole[0].tokens)
    for name, sums in asdict(whole[1]).items():
        assert getattr(parts[1], name) == pytest.approx(sums, rel=1e-5)


@pytest.mark.parametrize("context", [1, 2])
def test_a_model_that_sees_one_token_is_scored_by_its_table_to_the_same_bits(context: int) -> None:
    """Where `context` says more than the truth, each place is asked for its own row."""
    model = bigram()
    model.context = context
    found = [
        score(model, windows, CPU) for windows in (consecutive_windows(TEXT, T), overlapping_windows(TEXT, T, context))
    ]
    table = torch.log_softmax(model.token_embedding_table.weight.double(), dim=-1).detach()
    losses = [-table[a, b].item() for a, b in pairwise(TEXT.tolist())]
    hits = [int(table[a].argmax()) == b for a, b in pairwise(TEXT.tolist())]
    assert [one.accuracy for one in found] == [sum(hits) / 100] * 2
    assert [one.loss for one in found] == [pytest.approx(math.fsum(losses) / 100, rel=1e-15)] * 2
    by_token = break_down(model, TEXT, 30, CPU).token_sums
    wanted = [math.fsum(loss for loss, b in zip(losses, TEXT[1:], strict=True) if b == token) for token in range(V)]
    assert by_token == pytest.approx(wanted, rel=1e-14)


def test_no_more_logits_are_made_at_a_time_than_fit_where_there_are_many_tokens() -> None:
    """32 windows of 8 places and 65,536 tokens each would be 134 million logits."""
    idx = torch.zeros(32, 8, dtype=torch.int64)
    batches = list(evaluation._within_memory([(idx, idx)], vocab_size=1 << 16))
    assert [len(part) for part, _ in batches] == [8] * 4
    assert [len(part) for part, _ in evaluation._within_memory([(idx, idx)], vocab_size=65)] == [32]


def test_a_short_batch_weighs_as_much_as_its_tokens() -> None:
    model = bigram()
    with torch.no_grad():
        model.token_embedding_table.weight.zero_()
        model.token_embedding_table.weight[1, 1] = math.log(V - 1)  # after a 1 a 1 has share 1/2
    long, short = torch.zeros(2, T, dtype=torch.int64), torch.ones(1, 1, dtype=torch.int64)
    found = score(model, [(long, long), (short, short)], CPU)
    assert found.loss == pytest.approx((12 * math.log(V) + math.log(2)) / 13, rel=1e-6)


def test_scoring_changes_no_weight_and_leaves_no_gradient() -> None:
    model = attention()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    score(model, consecutive_windows(TEXT, T), CPU)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("model", [attention(), bigram()], ids=["attention", "bigram"])
def test_a_causal_model_passes(model: LanguageModel) -> None:
    check_causality(model, TEXT)
    check_causality(model, TEXT[:4])  # not even one whole window


@pytest.mark.parametrize(("past", "future"), [(t, u) for t in range(T) for u in range(t + 1, T)])
def test_one_hole_in_the_mask_is_found_and_its_place_named(past: int, future: int) -> None:
    model = attention()
    model.head.mask[past, future] = 0
    with pytest.raises(CharlmError, match=f"AttentionLanguageModel is not causal: .* from position {past + 1} on"):
        check_causality(model, TEXT)


def test_the_faintest_look_at_the_future_is_found() -> None:
    model = attention()
    model.head.mask[0, 1] = -16  # weighs a ten-millionth: some last bits change
    with pytest.raises(CharlmError, match="is not causal"):
        check_causality(model, TEXT)


def test_a_model_without_a_mask_is_found() -> None:
    model = attention()
    model.head.mask.zero_()
    with pytest.raises(CharlmError, match=r"is not causal: .* from position 1 on.*; mend the model's mask$"):
        check_causality(model, TEXT)


def test_a_long_window_is_changed_at_a_bounded_number_of_places() -> None:
    passes = []

    class Watched(BigramLanguageModel):
        def logits(self, idx: torch.Tensor) -> torch.Tensor:
            passes.append(len(idx))
            return super().logits(idx)

    check_causality(Watched(vocab_size=V, block_size=100), np.tile(TEXT, 10))
    assert 40 < len(passes) <= 65


def test_a_leak_in_a_single_window_is_found() -> None:
    class Leaky(BigramLanguageModel):
        def logits(self, idx: torch.Tensor) -> torch.Tensor:
            rows = super().logits(idx).clone()
            rows[-1, 0, 0] += idx[-1, -1]
            return rows

    with pytest.raises(CharlmError, match="Leaky is not causal"):
        check_causality(Leaky(vocab_size=V, block_size=T), TEXT)
