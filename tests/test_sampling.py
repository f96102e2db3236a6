"""Text is drawn from the model's distribution, and the seed alone decides which."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from charlm.models.attention import AttentionLanguageModel
from charlm.models.contract import LanguageModel
from charlm.models.counts import TableLanguageModel
from charlm.sampling import generate, starting_text
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


def brute_force(model: LanguageModel, tokens: list[int], length: int, temperature: float, seed: int) -> list[int]:
    """Walk up the shares of the next token until they pass a uniform number, one token after the other."""
    uniforms = np.random.Generator(np.random.Philox(key=[seed, 0])).random(length)
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
