"""Text is drawn from the model's distribution, and the seed alone decides which."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.models.attention import AttentionLanguageModel
from charlm.models.contract import LanguageModel
from charlm.models.counts import TableLanguageModel
from charlm.sampling import TOGETHER, Choice, Ending, generate, generate_together, pick, starting_text
from charlm.vocabulary import Vocabulary

V, T = 6, 4
SHARES = [0.4, 0.3, 0.0, 0.2, 0.1, 0.0]


@pytest.fixture
def model() -> AttentionLanguageModel:
    torch.manual_seed(1)
    model = AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=5, head_size=3)
    with torch.no_grad():
        model.lm_head.weight *= 5  # further from uniform, so that a wrong context shows
    return model


@pytest.fixture
def table() -> TableLanguageModel:
    """A model that gives every next token SHARES."""
    return TableLanguageModel(torch.tensor(SHARES).log().expand(V, V).contiguous(), block_size=T)


def draw(
    model: LanguageModel, prompt: tuple[int, ...] = (1,), length: int = 40, temperature: float = 1, **key: int
) -> list[int]:
    return list(generate(model, torch.tensor(prompt), length=length, temperature=temperature, **{"seed": 1} | key))


def brute_force(
    model: LanguageModel, tokens: list[int], length: int, temperature: float, seed: int, text: int = 0
) -> list[int]:
    """Walk up the shares of the next token until they pass a uniform number, one token after the other."""
    uniforms = np.random.Generator(np.random.Philox(key=[seed, text])).random(length)
    prompt_length = len(tokens)
    for uniform in uniforms:
        logits: list[float] = model(torch.tensor([tokens[-T:]]))[0][0, -1].tolist()
        shares = [math.exp(logit / temperature) for logit in logits]
        left, token = uniform * math.fsum(shares), 0
        while left >= shares[token]:
            left -= shares[token]
            token += 1
        tokens = [*tokens, token]
    return tokens[prompt_length:]


@pytest.mark.parametrize("prompt", [[1], [0, 5, 2, 3, 3, 1, 4]], ids=["short prompt", "prompt beyond the block"])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_text_beyond_the_block_is_drawn_from_the_last_block_of_tokens(
    model: AttentionLanguageModel, prompt: list[int], temperature: float
) -> None:
    expected = brute_force(model, prompt, 60, temperature, seed=3)
    assert draw(model, tuple(prompt), 60, temperature, seed=3) == expected
    assert len(set(expected)) > 2


@pytest.mark.parametrize("temperature", [0, 1e-3, 1e-300, 5e-324])
def test_temperature_zero_takes_the_likeliest_token_and_one_near_zero_does_so_too(
    model: AttentionLanguageModel, temperature: float
) -> None:
    tokens = [1]
    for _ in range(20):
        logits: list[float] = model(torch.tensor([tokens[-T:]]))[0][0, -1].tolist()
        tokens.append(logits.index(max(logits)))
    assert draw(model, (1,), 20, temperature) == tokens[1:]
    assert draw(model, (1,), 20, 0, seed=1) == draw(model, (1,), 20, 0, seed=2)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_tokens_are_as_frequent_as_their_share_of_the_softmax(table: TableLanguageModel, temperature: float) -> None:
    powers = [share ** (1 / temperature) for share in SHARES]
    n = 4000
    found = Counter(draw(table, length=n, temperature=temperature))
    for token, power in enumerate(powers):
        share = power / sum(powers)
        assert abs(found[token] - n * share) <= 5 * math.sqrt(n * share * (1 - share))  # none where the share is 0


def test_the_seed_decides_the_text_and_nothing_before_it(model: AttentionLanguageModel) -> None:
    seventh = draw(model, seed=7)
    draw(model, seed=6)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (the global generator is what must not matter)
    assert draw(model, seed=7) == seventh
    assert len({tuple(draw(model, seed=seed)) for seed in range(9)}) == 9


def test_a_shorter_text_is_the_start_of_a_longer_one(model: AttentionLanguageModel) -> None:
    assert draw(model, length=10) == draw(model, length=30)[:10]
    assert len(draw(model, length=10)) == 10
    assert draw(model, length=0) == []


def test_text_begins_with_the_prompt_or_at_the_start_of_a_line() -> None:
    assert starting_text("ab", Vocabulary.of("\nab")) == "ab"
    assert starting_text("", Vocabulary.of("\t\nab")) == "\n"
    assert starting_text("", Vocabulary.of("ab")) == "a"
    assert starting_text("", Vocabulary.of("abc"), np.array([0, 2, 1, 2], dtype=np.uint8)) == "c"
    assert starting_text("", Vocabulary.of("\nab"), np.array([1, 1], dtype=np.uint8)) == "\n"


def together(model: LanguageModel, group: int = 0, length: int = 40, **choice: Any) -> list[list[int]]:
    wanted = Choice(**choice)
    steps = list(generate_together(model, torch.tensor([1]), length=length, seed=3, choice=wanted, group=group))
    return [list(text) for text in zip(*steps, strict=True)]


def test_each_text_of_many_is_a_function_of_the_seed_and_its_number(model: AttentionLanguageModel) -> None:
    texts = together(model, length=300) + together(model, group=1, length=300)
    assert texts == [brute_force(model, [1], 300, 1.0, seed=3, text=number) for number in range(2 * TOGETHER)]
    assert len(set(map(tuple, texts))) == 2 * TOGETHER


def test_the_other_texts_change_no_bit_of_a_text(model: AttentionLanguageModel) -> None:
    window = torch.randint(V, (TOGETHER, T), generator=torch.Generator().manual_seed(2))
    logits = model(window)[0]
    for row in range(TOGETHER):
        changed = (window + 1) % V
        changed[row] = window[row]
        assert torch.equal(model(changed)[0][row], logits[row])


def test_only_the_context_of_a_model_is_computed(table: TableLanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = draw(table, prompt=(1, 2, 3, 0), length=9)
    seen, logits = [], table.logits

    def observed(idx: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(idx.shape))
        return logits(idx)

    table.context = 2
    monkeypatch.setattr(table, "logits", observed)
    assert draw(table, prompt=(1, 2, 3, 0), length=9) == expected
    assert set(seen) == {(TOGETHER, 2)}


def test_draws_are_as_frequent_as_the_shares_of_the_softmax(model: AttentionLanguageModel) -> None:
    """By Pearson's chi-square, which would find a temperature that is a tenth off."""
    n = 60_000
    uniforms = torch.from_numpy(np.random.Generator(np.random.Philox(key=[5, 5])).random((V, n)))
    for temperature in (0.5, 1.0, 2.0):
        right = wrong = freedom = 0.0
        for last in range(V):
            logits = model(torch.tensor([[last]]))[0][0, -1].detach().double()
            drawn = pick(logits.expand(n, V), uniforms[last], Choice(temperature)).tolist()
            found, cells = _chi_square(drawn, torch.softmax(logits / temperature, dim=-1).tolist())
            right, freedom = right + found, freedom + cells - 1
            wrong += _chi_square(drawn, torch.softmax(logits / temperature * 1.1, dim=-1).tolist())[0]
        assert right < _limit(freedom) < wrong


def _chi_square(drawn: list[int], shares: list[float]) -> tuple[float, int]:
    """Return the statistic and how many cells it has; tokens that are expected fewer than ten times share one."""
    found, expected = Counter(drawn), [len(drawn) * share for share in shares]
    common = [token for token in range(V) if expected[token] >= 10]
    rare = [token for token in range(V) if token not in common]
    cells = [(found[token], expected[token]) for token in common]
    cells.append((sum(found[token] for token in rare), math.fsum(expected[token] for token in rare)))
    return math.fsum((seen - wanted) ** 2 / wanted for seen, wanted in cells if wanted), len(cells)


def _limit(freedom: float) -> float:
    """Return the chi-square that chance exceeds once in a million, by Wilson and Hilferty's approximation."""
    return freedom * (1 - 2 / (9 * freedom) + 4.75 * math.sqrt(2 / (9 * freedom))) ** 3


def allowed(shares: list[float], choice: Choice) -> set[int]:
    """Return which tokens can be drawn, one after the other from the likeliest on."""
    left = sorted(range(len(shares)), key=lambda token: (-shares[token], token))[: choice.top_k]
    total, sum_so_far = math.fsum(shares[token] for token in left), 0.0
    kept: set[int] = set()
    for token in left:
        if kept and choice.top_p < 1 and sum_so_far >= choice.top_p * total:
            break
        kept.add(token)
        sum_so_far += shares[token]
    return kept


@settings(max_examples=300, deadline=None)
@given(
    weights=st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any),
    top_k=st.none() | st.integers(1, 12),
    top_p=st.sampled_from([1e-300, 0.013, 0.31, 0.52, 0.777, 0.913, 1.0]),
    temperature=st.sampled_from([0.7, 1.0, 3.0]),
)
def test_top_k_and_top_p_are_those_of_a_plain_computation(
    weights: list[int], top_k: int | None, top_p: float, temperature: float
) -> None:
    choice = Choice(temperature, top_k, top_p)
    powers = [weight ** (1 / temperature) for weight in weights]  # 0 is a token that is never drawn
    total = math.fsum(powers)
    can = allowed([power / total for power in powers], choice)
    left = math.fsum(powers[token] for token in can)
    uniforms = [(i + 0.5) / 200 for i in range(200)] + [0.0, 1 - 2**-53]
    logits = torch.tensor(weights, dtype=torch.float64).log().expand(len(uniforms), -1)
    drawn = pick(logits, torch.tensor(uniforms, dtype=torch.float64), choice).tolist()
    for uniform, token in zip(uniforms, drawn, strict=True):
        assert token in can
        assert powers[token] > 0
        below = math.fsum(powers[other] for other in can if other < token) / left
        assert below - 1e-9 <= uniform <= below + powers[token] / left + 1e-9


def test_filters_that_leave_all_change_nothing_and_those_that_leave_one_are_greedy(
    model: AttentionLanguageModel,
) -> None:
    plain = together(model)
    assert together(model, top_k=V) == together(model, top_k=99) == plain
    assert together(model, top_p=1.0) == plain
    greedy = together(model, temperature=0)
    assert together(model, top_k=1) == together(model, top_p=5e-324) == greedy


def test_of_equal_tokens_top_k_keeps_the_first() -> None:
    uniforms = torch.linspace(0, 0.999, 50, dtype=torch.float64)
    assert set(pick(torch.zeros(50, V, dtype=torch.float64), uniforms, Choice(top_k=2)).tolist()) == {0, 1}


@given(text=st.text("abc", max_size=40), stop=st.text("abc", max_size=5))
def test_a_text_ends_before_the_first_stop_and_nothing_is_held_back_without_need(text: str, stop: str) -> None:
    ending, certain = Ending(stop), ""
    for place, character in enumerate(text):
        certain += ending.add(character)
        if ending.reached:
            break
        held = text[len(certain) : place + 1]
        assert held == "" or (held != stop and stop.startswith(held))
    certain += ending.rest()
    assert certain == (text.partition(stop)[0] if stop else text)
    assert ending.reached == bool(stop and stop in text)
