"""The attention model is the equations: torch's own attention, numbers by hand, and no look at the future."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from charlm import products
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel, Head
from charlm.models.bigram import BigramLanguageModel

V, T, C, H = 11, 8, 6, 4


@pytest.fixture
def head() -> Head:
    torch.manual_seed(1)
    return Head(n_embd=C, head_size=H, block_size=T)


@pytest.fixture
def model() -> AttentionLanguageModel:
    torch.manual_seed(2)
    return AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=C, head_size=H)


@pytest.fixture
def idx() -> Tensor:
    """Three windows of distinct tokens (3, T)."""
    return torch.stack([torch.randperm(V, generator=torch.Generator().manual_seed(seed))[:T] for seed in range(3)])


@pytest.fixture(params=["numpy", "torch"])
def _computed_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With numpy's matrix products, as under portable numerics, and with torch's."""
    monkeypatch.setattr(products, "_PINNED", request.param == "numpy")


# --- the head ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("length", [1, 5, T])
def test_head_is_torchs_own_causal_attention(head: Head, length: int) -> None:
    x = torch.randn(3, length, C)
    query, key, value = (x @ layer.weight.T for layer in (head.query, head.key, head.value))
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert head(x).shape == (3, length, H)
    torch.testing.assert_close(head(x), expected, rtol=1e-5, atol=1e-6)


def test_weights_are_the_softmax_of_masked_scores_worked_out_by_hand() -> None:
    head = Head(n_embd=1, head_size=4, block_size=5)  # scores are scaled by 4 ** -0.5, a half
    key = torch.zeros(1, 3, 4)
    key[0, 1, 0], key[0, 2, 0] = math.log(3), math.log(6)
    query = torch.zeros(1, 3, 4)
    query[0, :, 0] = 2  # query . key / 2 is 0, ln 3 and ln 6
    expected = torch.tensor([[[1, 0, 0], [1 / 4, 3 / 4, 0], [1 / 10, 3 / 10, 6 / 10]]])
    torch.testing.assert_close(head.weights(query, key), expected)
    assert torch.equal(head.weights(query, key).triu(1), torch.zeros(1, 3, 3))  # the future weighs nothing at all

    value = torch.tensor([[[4.0], [8.0], [20.0]]]).expand(1, 3, 4)
    gathered = head.attend(torch.cat([query, key, value], dim=-1))
    torch.testing.assert_close(gathered[0, :, 0], torch.tensor([4, 0.25 * 4 + 0.75 * 8, 0.1 * 4 + 0.3 * 8 + 0.6 * 20]))


def test_the_gradient_of_a_position_at_later_positions_is_zero(head: Head) -> None:
    x = torch.randn(1, T, C, requires_grad=True)
    for t in range(T):
        (gradient,) = torch.autograd.grad(head(x)[0, t].sum(), x)
        at = gradient[0].abs().sum(dim=-1)  # (T,)
        assert torch.equal(at[t + 1 :], torch.zeros(T - t - 1))
        assert (at[: t + 1] > 0).all()


# --- the model --------------------------------------------------------------------------------------------------


def as_written(model: AttentionLanguageModel, idx: Tensor) -> Tensor:
    """Return the logits by the equations: embeddings are added first, and only then projected."""
    x = model.token_embedding_table(idx) + model.position_embedding_table(torch.arange(idx.shape[1]))
    query, key, value = (layer(x) for layer in (model.head.query, model.head.key, model.head.value))
    result: Tensor = model.lm_head(F.scaled_dot_product_attention(query, key, value, is_causal=True))
    return result


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("length", [1, 5, T])
def test_projected_tables_give_the_logits_and_gradients_of_the_equations(
    model: AttentionLanguageModel, idx: Tensor, length: int
) -> None:
    idx, targets = idx[:, :length], idx[:, :length].roll(1, dims=0)
    logits, loss = model(idx, targets)
    expected = as_written(model, idx)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)

    assert loss is not None
    assert torch.equal(model.loss(idx, targets), loss)
    expected_loss = F.cross_entropy(expected.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss, expected_loss)
    parameters = list(model.parameters())
    for found, wanted in zip(
        torch.autograd.grad(loss, parameters), torch.autograd.grad(expected_loss, parameters), strict=True
    ):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 5, T])
def test_the_logits_after_the_last_token_are_the_last_of_all(
    model: AttentionLanguageModel, idx: Tensor, batch: int, length: int
) -> None:
    idx = idx[:batch, :length]
    found = model.next_logits(idx)
    assert found.shape == (batch, V)
    torch.testing.assert_close(found, model(idx)[0][:, -1], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, as_written(model, idx)[:, -1], rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("length", [1, 5, T])
def test_the_weights_that_are_shown_are_those_that_the_logits_come_from(
    model: AttentionLanguageModel, idx: Tensor, length: int
) -> None:
    idx = idx[:, :length]
    x = model.token_embedding_table(idx) + model.position_embedding_table.weight[:length]
    scores = (x @ model.head.query.weight.T) @ (x @ model.head.key.weight.T).mT / H**0.5
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    expected = F.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
    torch.testing.assert_close(model.attention(idx), expected, rtol=1e-5, atol=1e-6)


def test_another_token_changes_its_own_and_later_logits_and_no_bit_of_earlier_ones(
    model: AttentionLanguageModel, idx: Tensor
) -> None:
    logits, _ = model(idx)
    for t in range(T):
        changed = idx.clone()
        changed[:, t] = (changed[:, t] + 1) % V
        after, _ = model(changed)
        assert torch.equal(after[:, :t], logits[:, :t])
        for later in range(t, T):
            assert not torch.equal(after[:, later], logits[:, later])


def test_the_gradient_of_a_loss_at_later_embeddings_is_zero(model: AttentionLanguageModel) -> None:
    idx = torch.arange(T)[None]  # position t holds token t, so row t of both tables is the embedding at t
    tables = [model.token_embedding_table.weight, model.position_embedding_table.weight]
    for t in range(T):
        loss = F.cross_entropy(model(idx)[0][:, t], torch.tensor([V - 1]))
        for gradient in torch.autograd.grad(loss, tables):
            at = gradient.abs().sum(dim=-1)
            assert torch.equal(at[t + 1 :], torch.zeros_like(at[t + 1 :]))
            assert (at[: t + 1] > 0).all()


def test_attention_sees_before_the_last_character_and_the_bigram_does_not(model: AttentionLanguageModel) -> None:
    bigram = BigramLanguageModel(vocab_size=V, block_size=T)
    idx = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 4]])
    one, other = bigram(idx)[0][:, -1]
    assert torch.equal(one, other)
    one, other = model(idx)[0][:, -1]
    assert not torch.allclose(one, other)


def test_the_order_of_what_was_seen_matters(model: AttentionLanguageModel) -> None:
    one, other = model(torch.tensor([[1, 2, 3], [2, 1, 3]]))[0][:, -1]
    assert not torch.allclose(one, other)


@pytest.mark.parametrize(("block_size", "count"), [(32, 8_321), (8, 7_553)])
def test_parameters_are_as_many_as_by_hand(block_size: int, count: int) -> None:
    model = AttentionLanguageModel(vocab_size=65, block_size=block_size, n_embd=32, head_size=32)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    by_hand = 65 * 32 + block_size * 32 + 3 * 32 * 32 + 32 * 65 + 65  # tokens, positions, q k v, lm_head and its bias
    assert sum(weight.numel() for weight in model.state_dict().values()) == by_hand == count  # and the mask is none


def test_an_input_longer_than_the_block_is_an_error_that_says_so(model: AttentionLanguageModel) -> None:
    model(torch.zeros(1, T, dtype=torch.int64))
    with pytest.raises(CharlmError, match=r"^the input has 9 tokens and block_size is 8; pass the last 8 of them$"):
        model(torch.zeros(1, T + 1, dtype=torch.int64))
