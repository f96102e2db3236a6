"""Kneser-Ney against the textbook's recursion, counted with dictionaries, and the known losses on the real text."""

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch

from charlm.evaluation import score
from charlm.models.kneser_ney import kneser_ney
from charlm.tokens import Tokens, consecutive_windows, overlapping_windows
from charlm.vocabulary import Vocabulary

V = 4
Gram = tuple[int, ...]


def textbook(text: list[int], context: int) -> Callable[[Gram, int], float]:
    """Return p(token | history) of interpolated modified Kneser-Ney, from Chen and Goodman's definitions."""
    occurrences = [
        Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) if n else Counter()
        for n in range(context + 2)
    ]
    counts: list[Counter[Gram]] = [Counter() for _ in range(context + 2)]
    for n in range(1, context + 1):  # how many different tokens come before
        before = defaultdict(set)
        for gram in occurrences[n + 1]:
            before[gram[1:]].add(gram[0])
        counts[n] = Counter({gram: len(tokens) for gram, tokens in before.items()})
    counts[context + 1] = occurrences[context + 1]

    def discounts(n: int) -> tuple[float, float, float]:
        n1, n2, n3, n4 = (sum(1 for c in counts[n].values() if c == r) for r in (1, 2, 3, 4))
        if not (n1 and n2 and n3 and n4):
            return 0.5, 0.5, 0.5
        y = n1 / (n1 + 2 * n2)
        estimated = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        lost: Counter[Gram] = Counter()
        for gram, count in counts[n].items():
            lost[gram[:-1]] += estimated[min(count, 3) - 1]  # type: ignore[assignment]
            if estimated[min(count, 3) - 1] > count:
                return 0.5, 0.5, 0.5  # more than there is
        return estimated if min(lost.values()) > 0 else (0.5, 0.5, 0.5)  # nothing would be left for others

    taken = [discounts(n) if n else (0.0, 0.0, 0.0) for n in range(context + 2)]

    def discount(n: int, count: int) -> float:
        return taken[n][min(count, 3) - 1]

    def probability(history: Gram, token: int) -> float:
        n = len(history) + 1
        followers = {gram[-1]: count for gram, count in counts[n].items() if gram[:-1] == history}
        shorter = probability(history[1:], token) if history else 1 / V
        if not followers:
            return shorter
        total = sum(followers.values())
        left = sum(discount(n, count) for count in followers.values())
        count = followers.get(token, 0)
        return ((count - discount(n, count)) if count else 0.0) / total + left / total * shorter

    return lambda history, token: probability(history[-context:], token)


def likely_text(length: int, seed: int) -> list[int]:
    """A text whose next token depends on the two before, so that there is something to count."""
    draw = np.random.default_rng(seed)
    table = draw.dirichlet([0.3] * V, size=(V, V))
    text = [0, 1]
    while len(text) < length:
        text.append(int(draw.choice(V, p=table[text[-2], text[-1]])))
    return text


@pytest.mark.parametrize("length", [12, 400, 3000])  # 12: too small a text to estimate discounts from
@pytest.mark.parametrize("context", [1, 2, 3, 5])
def test_it_is_the_textbook_recursion(length: int, context: int) -> None:
    text, unseen = likely_text(length, seed=1), likely_text(40, seed=2)
    expected = textbook(text, context)
    [model] = kneser_ney(torch.tensor(text), V, contexts=[context], block_size=len(unseen))
    found = model(torch.tensor([unseen]))[0][0].exp()
    for place in range(context - 1, len(unseen)):  # from where there is a whole context
        for token in range(V):
            likely = expected(tuple(unseen[: place + 1]), token)
            assert found[place, token].item() == pytest.approx(likely, abs=1e-12)


def test_with_fewer_tokens_before_it_a_place_is_predicted_from_those() -> None:
    """The shorter contexts are weighed by how many different tokens they follow, as within the recursion."""
    text = likely_text(3000, seed=1)
    [model] = kneser_ney(torch.tensor(text), V, contexts=[4], block_size=8)
    start = torch.tensor([[2, 1, 3, 0, 2, 2]])
    whole = model(start)[0]
    for length in range(1, 7):
        assert torch.equal(model(start[:, :length])[0], whole[:, :length])
    followers: dict[tuple[int, int], set[int]] = defaultdict(set)
    for before, last, after in zip(text, text[1:], text[2:], strict=False):
        followers[last, after].add(before)
    sizes = {pair: len(before) for pair, before in followers.items()}
    most = max(range(V), key=lambda token: sizes.get((2, token), 0))
    assert int(whole[0, 0].argmax()) == most


@pytest.mark.parametrize("context", [1, 3, 8])
def test_every_prediction_sums_to_one_and_leaves_nothing_impossible(context: int) -> None:
    text = likely_text(500, seed=3)
    [model] = kneser_ney(torch.tensor(text), V + 2, contexts=[context], block_size=64)  # two tokens never occur
    idx = torch.randint(0, V + 2, (8, 64), generator=torch.Generator().manual_seed(0))
    probabilities = model(idx)[0].exp()
    assert torch.allclose(probabilities.sum(dim=-1), torch.ones(8, 64, dtype=torch.float64), rtol=0, atol=1e-12)
    assert (probabilities > 0).all()


def test_a_model_does_not_depend_on_which_others_are_made_with_it() -> None:
    text, idx = torch.tensor(likely_text(800, seed=4)), torch.tensor([likely_text(30, seed=5)])
    together = kneser_ney(text, V, contexts=range(1, 7), block_size=30)
    for context, model in enumerate(together, start=1):
        [alone] = kneser_ney(text, V, contexts=[context], block_size=30)
        assert model.context == context
        assert torch.equal(model(idx)[0], alone(idx)[0])


@pytest.fixture(scope="module")
def shakespeare(corpus_text: str) -> tuple[Tokens, Tokens]:
    ids = Vocabulary.of(corpus_text).encode(corpus_text)
    return ids[:1_003_854], ids[1_003_854:]


def test_the_losses_on_the_real_text_are_the_known_ones(shakespeare: tuple[Tokens, Tokens]) -> None:
    train, val = shakespeare
    models = kneser_ney(torch.from_numpy(train.astype("int64")), 65, contexts=range(1, 9), block_size=32)
    cpu = torch.device("cpu")
    full = [score(model, overlapping_windows(val, 32, model.context), cpu) for model in models]
    assert [result.tokens for result in full] == [111_539] * 8
    assert [f"{result.loss:.4f}" for result in full] == (
        ["2.4835", "2.0381", "1.7191", "1.5612", "1.5226", "1.5165", "1.5192", "1.5221"]
    )
    # In windows of 32 a context is cut short at their start: no better, and for one character the same.
    cut = [score(model, consecutive_windows(val, 32), cpu).loss for model in models]
    assert cut[0] == pytest.approx(full[0].loss, rel=1e-12)
    assert all(a > b.loss for a, b in zip(cut[1:], full[1:], strict=True))
