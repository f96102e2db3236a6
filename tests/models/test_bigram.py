"""The bigram table is the counts of pairs, once it holds them."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from charlm.errors import CharlmError
from charlm.evaluation import score
from charlm.models.bigram import BigramLanguageModel
from charlm.tokens import consecutive_windows
from charlm.vocabulary import Vocabulary


@pytest.fixture
def model() -> BigramLanguageModel:
    torch.manual_seed(1)
    return BigramLanguageModel(vocab_size=65, block_size=32)


def test_parameters_are_one_for_each_pair(model: BigramLanguageModel) -> None:
    assert sum(parameter.numel() for parameter in model.parameters()) == 65 * 65 == 4_225


def test_logits_are_the_tables_rows(model: BigramLanguageModel) -> None:
    idx = torch.tensor([[3, 3, 64], [0, 64, 1]])
    logits, loss = model(idx)
    assert loss is None
    assert logits.shape == (2, 3, 65)
    for b in range(2):
        for t in range(3):
            assert torch.equal(logits[b, t], model.token_embedding_table.weight[idx[b, t]])


def test_the_loss_is_the_mean_cross_entropy(model: BigramLanguageModel) -> None:
    idx, targets = torch.tensor([[3, 4], [64, 0]]), torch.tensor([[4, 5], [0, 3]])
    _, loss = model(idx, targets)
    table = model.token_embedding_table.weight.detach()
    pairs = [(3, 4), (4, 5), (64, 0), (0, 3)]
    expected = -sum(math.log(F.softmax(table[a], dim=0)[b]) for a, b in pairs) / 4
    assert loss is not None
    assert loss.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("V", [1, 2, 65, 1024, 1025, 1500])
@pytest.mark.parametrize(("B", "T"), [(1, 1), (4, 32)])
def test_the_loss_for_training_is_that_of_the_logits_and_so_is_its_gradient(V: int, B: int, T: int) -> None:
    """By counts of pairs up to 1,024 tokens, and above by the rows that were met: two ways to the same numbers."""
    torch.manual_seed(3)
    model = BigramLanguageModel(vocab_size=V, block_size=32)
    idx, targets = torch.randint(V, (2, B, T))
    table = model.token_embedding_table.weight.detach().clone().requires_grad_()
    expected = F.cross_entropy(table[idx].flatten(0, 1), targets.flatten())
    (expected_gradient,) = torch.autograd.grad(expected, [table])

    loss = model.loss(idx, targets)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    (gradient,) = torch.autograd.grad(loss, list(model.parameters()))
    assert gradient.is_sparse == (V > 1024)
    torch.testing.assert_close(gradient.to_dense(), expected_gradient, rtol=1e-5, atol=1e-6)
    unmet = torch.ones(V, dtype=torch.bool).index_fill(0, idx.flatten(), False)
    assert not gradient.to_dense()[unmet].any(), "to the last bit: the optimizer moves what is not zero"


def test_the_loss_for_training_counts_a_pair_as_often_as_it_occurs(model: BigramLanguageModel) -> None:
    often, seldom = (torch.tensor([[3] * n + [5] * (8 - n)]) for n in (7, 1))
    targets = torch.full((1, 8), 4)
    of_3, of_5 = (model.loss(torch.tensor([[a]]), torch.tensor([[4]])).item() for a in (3, 5))
    assert model.loss(often, targets).item() == pytest.approx((7 * of_3 + of_5) / 8, rel=1e-6)
    assert model.loss(seldom, targets).item() == pytest.approx((of_3 + 7 * of_5) / 8, rel=1e-6)


def test_the_logits_after_the_last_token_are_its_row(model: BigramLanguageModel) -> None:
    idx = torch.tensor([[3, 3, 64], [0, 64, 1]])
    assert torch.equal(model.next_logits(idx), model.token_embedding_table.weight[[64, 1]])


def test_fed_the_logarithms_of_counts_it_has_their_closed_form_loss(corpus_text: str) -> None:
    train = corpus_text[:1_003_854]
    vocabulary = Vocabulary.of(train)
    pairs = Counter(pairwise(train))
    firsts = Counter(train[:-1])
    closed_form = -math.fsum(n * math.log(n / firsts[a]) for (a, _), n in pairs.items()) / (len(train) - 1)
    assert closed_form == pytest.approx(2.4519, abs=5e-5)

    model = BigramLanguageModel(vocab_size=len(vocabulary), block_size=32)
    with torch.no_grad():
        model.token_embedding_table.weight.fill_(-math.inf)
        for (a, b), n in pairs.items():
            model.token_embedding_table.weight[vocabulary.encode(a)[0], vocabulary.encode(b)[0]] = math.log(n)
    found = score(model, consecutive_windows(vocabulary.encode(train), 32), torch.device("cpu"))
    assert found.loss == pytest.approx(closed_form, abs=1e-6)


def test_an_input_longer_than_the_block_is_an_error_that_says_so(model: BigramLanguageModel) -> None:
    with pytest.raises(CharlmError, match=r"^the input has 33 tokens and block_size is 32"):
        model(torch.zeros(1, 33, dtype=torch.int64))
