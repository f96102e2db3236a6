"""Context at work: the pairs are what they are said to be, and attention is where it can be."""

import itertools
import json

import numpy as np
import pytest
import torch

from charlm import context
from charlm.context import attention_on, compare_pair, find_pairs
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens
from charlm.vocabulary import Vocabulary

TEXT = "the cat sat on a hat\nand a rat ran in the rain to the man\nthat had a hat on his head\n" * 4
VOCABULARY = Vocabulary.of(TEXT)
VAL: Tokens = VOCABULARY.encode(TEXT)
V, T = len(VOCABULARY), 12


@pytest.fixture
def models() -> dict[str, LanguageModel]:
    torch.manual_seed(1)
    return {
        "bigram": BigramLanguageModel(vocab_size=V, block_size=T).eval(),
        "attention": AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=8, head_size=8).eval(),
    }


def probabilities(model: LanguageModel, text: str) -> dict[str, float]:
    logits = model(torch.tensor([VOCABULARY.encode(text).tolist()]))[0][0, -1].tolist()
    weights = np.exp(np.array(logits) - max(logits))
    return dict(zip(VOCABULARY.characters, (weights / weights.sum()).tolist(), strict=True))


def test_a_pair_shows_the_likeliest_five_of_each_model(models: dict[str, LanguageModel]) -> None:
    shown = compare_pair(models, "cat", "hat", VOCABULARY)
    assert (shown["left"], shown["right"]) == ("cat", "hat")
    for name, model in models.items():
        for side in ("left", "right"):
            expected = sorted(probabilities(model, shown[side]).items(), key=lambda item: -item[1])[:5]
            found = shown["predictions"][name][side]
            assert [character for character, _ in found] == [character for character, _ in expected]
            assert [share for _, share in found] == pytest.approx([share for _, share in expected], abs=1e-6)
        left, right = probabilities(model, "cat"), probabilities(model, "hat")
        apart = sum(abs(left[character] - right[character]) for character in left) / 2
        assert shown["distance"][name] == pytest.approx(apart, abs=1e-6)
    assert shown["predictions"]["bigram"]["left"] == shown["predictions"]["bigram"]["right"]
    assert shown["distance"]["bigram"] == 0
    assert shown["distance"]["attention"] > 0
    json.dumps(shown)


def test_a_model_that_says_it_sees_one_character_and_sees_more_is_an_error(models: dict[str, LanguageModel]) -> None:
    models["attention"].context = 1
    with pytest.raises(CharlmError, match="'attention' sees one character and predicts differently after 'cat'"):
        compare_pair(models, "cat", "hat", VOCABULARY)


def test_a_long_text_is_seen_as_far_as_the_block_goes(models: dict[str, LanguageModel]) -> None:
    tail = "on a hat\nand"
    shown = compare_pair({"attention": models["attention"]}, "the " + tail, "rain to " + tail, VOCABULARY)
    assert len(tail) == T
    assert shown["distance"]["attention"] == 0


def test_found_pairs_are_the_most_different_of_all_windows_that_end_alike(models: dict[str, LanguageModel]) -> None:
    windows = [TEXT[start : start + T] for start in range(0, (len(TEXT) - 1) // T * T, T)]
    best: dict[str, float] = {}
    for a, b in itertools.combinations(windows, 2):
        if a[-1] == b[-1]:
            left, right = (probabilities(models["attention"], text) for text in (a, b))
            apart = sum(abs(left[character] - right[character]) for character in left) / 2
            best[a[-1]] = max(best.get(a[-1], 0), apart)
    expected = sorted(best.values(), reverse=True)[:3]

    found = find_pairs(models["attention"], VAL, VOCABULARY, count=3)
    assert len({left[-1] for left, _ in found}) == 3
    for (one, other), distance in zip(found, expected, strict=True):
        assert {one, other} <= set(windows)
        assert one[-1] == other[-1]
        shown = compare_pair(models, one, other, VOCABULARY)
        assert shown["distance"]["attention"] == pytest.approx(distance, abs=1e-6)


def test_no_pair_is_found_where_none_ends_alike(models: dict[str, LanguageModel]) -> None:
    assert find_pairs(models["attention"], VOCABULARY.encode("the cat sat on"), VOCABULARY, count=3) == []


def test_attention_is_shown_on_a_line_and_its_rows_sum_to_one(models: dict[str, LanguageModel]) -> None:
    shown = attention_on(models["attention"], VAL, VOCABULARY)
    assert shown is not None
    assert shown["text"] == "the cat sat "  # the first line, as far as the block goes
    weights = np.array(shown["weights"])
    assert weights.shape == (T, T)
    assert weights.sum(axis=1) == pytest.approx(np.ones(T), abs=T * 1e-6)
    assert (np.triu(weights, k=1) == 0).all()
    json.dumps(shown)


def test_the_mean_by_distance_is_over_all_windows(models: dict[str, LanguageModel]) -> None:
    shown = attention_on(models["attention"], VAL, VOCABULARY)
    assert shown is not None
    found: dict[int, list[float]] = {distance: [] for distance in range(T)}
    for start in range(0, len(VAL) - 1, T):
        window = VAL[start : min(start + T, len(VAL) - 1)].astype("int64")
        weights = models["attention"].attention(torch.from_numpy(window)[None])
        assert weights is not None
        for row, distance in itertools.product(range(len(window)), range(T)):
            if distance <= row:
                found[distance].append(weights[0, row, row - distance].item())
    expected = [sum(values) / len(values) for values in found.values()]
    assert shown["by_distance"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("at_once", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("abcabc" * 6, "abcabcabcabc"),
        ("ab\nabcabcabcabcabcab\nab", "abcabcabcabc"),
        ("\nab\nbcabcabcabcabc", "bcabcabcabca"),
        ("ab\nabc\nab\na\nb\nab", "ab\nabc\nab\na\n"),
    ],
)
def test_the_first_line_that_is_long_enough_is_shown_or_the_start_of_the_text(
    monkeypatch: pytest.MonkeyPatch, text: str, line: str, at_once: int
) -> None:
    monkeypatch.setattr(context, "_SEARCHED_AT_ONCE", at_once)
    vocabulary = Vocabulary.of(text)
    model = AttentionLanguageModel(vocab_size=len(vocabulary), block_size=T, n_embd=4, head_size=4).eval()
    shown = attention_on(model, vocabulary.encode(text), vocabulary)
    assert shown is not None
    assert shown["text"] == line


def test_a_model_without_attention_shows_none(models: dict[str, LanguageModel]) -> None:
    assert attention_on(models["bigram"], VAL, VOCABULARY) is None


def test_no_pair_is_found_for_a_model_that_sees_one_character(models: dict[str, LanguageModel]) -> None:
    assert find_pairs(models["bigram"], VAL, VOCABULARY, count=3) == []


def test_no_text_is_paired_with_itself(models: dict[str, LanguageModel]) -> None:
    same = VOCABULARY.encode("the cat sat " * 3)  # each window is the same
    assert find_pairs(models["attention"], same, VOCABULARY, count=3) == []
