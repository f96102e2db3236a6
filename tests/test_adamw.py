"""The optimizer is torch's, to the last bit, and where the gradient is sparse it is the equations, row by row."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from charlm.adamw import AdamW
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel

V, B, T = 7, 4, 6


def attention() -> AttentionLanguageModel:
    torch.manual_seed(1)
    return AttentionLanguageModel(vocab_size=V, block_size=T, n_embd=5, head_size=4)


def bigram() -> BigramLanguageModel:
    torch.manual_seed(2)
    return BigramLanguageModel(vocab_size=V, block_size=T)


def rate(step: int) -> float:
    """Return a learning rate that changes from step to step."""
    return 0.01 * (1 + step % 3)


def torchs(optimizer: torch.optim.Optimizer, loss: Tensor, learning_rate: float) -> None:
    """Take a step of torch's own optimizer."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.param_groups[0]["lr"] = learning_rate
    optimizer.step()


# --- gradients that are whole -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [attention, bigram])
def test_fifty_steps_are_torchs_to_the_last_bit(make: Callable[[], LanguageModel]) -> None:
    model, expected = make(), make()
    optimizer = AdamW(model.parameters())
    reference = torch.optim.AdamW(expected.parameters(), fused=True)
    batches = torch.Generator().manual_seed(3)
    for step in range(50):
        idx, targets = torch.randint(V, (2, B, T), generator=batches)
        optimizer.step(model.loss(idx, targets), rate(step))
        torchs(reference, expected.loss(idx, targets), rate(step))
    for found, wanted in zip(model.parameters(), expected.parameters(), strict=True):
        assert torch.equal(found, wanted)

    names = {"mean": "exp_avg", "square": "exp_avg_sq"}
    moments = reference.state_dict()["state"]
    state = optimizer.state()
    assert {state.pop("steps").item()} == {float(of["step"]) for of in moments.values()} == {50}
    assert len(state) == 2 * len(moments)
    for name, tensor in state.items():
        number, _, kind = name.partition(".")
        assert torch.equal(tensor, moments[int(number)][names[kind]])


def test_a_parameter_that_is_used_transposed_has_a_gradient_that_does_not_lie_in_order() -> None:
    torch.manual_seed(4)
    weight = nn.Parameter(torch.randn(5, 3))
    expected = nn.Parameter(weight.detach().clone())
    optimizer, reference = AdamW([weight]), torch.optim.AdamW([expected], fused=True)
    for step in range(10):
        x = torch.randn(3, 5)

        def loss(of: nn.Parameter, x: Tensor = x) -> Tensor:
            return (torch.cat([of.mT]) * x).square().sum()

        (gradient,) = torch.autograd.grad(loss(weight), [weight])
        assert not gradient.is_contiguous(), "or this would show nothing"
        optimizer.step(loss(weight), rate(step))
        torchs(reference, loss(expected), rate(step))
    assert torch.equal(weight, expected)


def test_a_parameter_that_the_loss_does_not_use_has_a_gradient_of_zero() -> None:
    torch.manual_seed(5)
    parameters = [nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(2, 2))]
    expected = copy.deepcopy(parameters)
    optimizer, reference = AdamW(parameters), torch.optim.AdamW(expected, fused=True)
    for step in range(5):
        used = step % 2  # in turn, so that what moves one of them by its moments shows
        optimizer.step(parameters[used].square().sum(), rate(step))
        torchs(reference, expected[used].square().sum() + 0 * expected[1 - used].sum(), rate(step))
    for found, wanted in zip(parameters, expected, strict=True):
        assert torch.equal(found, wanted)


def test_no_gradient_is_left_behind() -> None:
    model = attention()
    optimizer = AdamW(model.parameters())
    optimizer.step(model.loss(*torch.randint(V, (2, B, T))), 0.01)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(tensor.requires_grad for tensor in optimizer.state().values())


# --- gradients that are sparse ----------------------------------------------------------------------------------


def by_hand(
    table: NDArray[np.float64], steps: list[tuple[dict[int, NDArray[np.float64]], float]]
) -> NDArray[np.float64]:
    """Return the table after `steps`, each the gradients of some rows and a learning rate, in double precision."""
    table = table.copy()
    mean, square = np.zeros_like(table), np.zeros_like(table)
    for t, (gradients, learning_rate) in enumerate(steps, start=1):
        for row, gradient in gradients.items():
            mean[row] = 0.9 * mean[row] + 0.1 * gradient
            square[row] = 0.999 * square[row] + 0.001 * gradient**2
            table[row] -= learning_rate * 0.01 * table[row]
            unbiased = mean[row] / (1 - 0.9**t), square[row] / (1 - 0.999**t)
            table[row] -= learning_rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
    return table


def looked_up(weight: Tensor, idx: Tensor, factors: Tensor) -> Tensor:
    return (nn.functional.embedding(idx, weight, sparse=weight.requires_grad) * factors).sum()


def test_of_a_sparse_gradient_the_rows_that_it_has_move_by_the_equations_and_no_other() -> None:
    rows, columns = 9, 4
    torch.manual_seed(6)
    weight = nn.Parameter(torch.randn(rows, columns))
    before = weight.detach().clone()
    optimizer = AdamW([weight])
    steps = []
    for step, idx in enumerate([[0, 3, 3], [3, 8], [0], [5, 5, 5, 5], [3, 0, 8, 5], [3]]):
        factors = torch.randn(len(idx), columns)
        gradients: dict[int, NDArray[np.float64]] = {}
        for row, factor in zip(idx, factors.double().numpy(), strict=True):  # a row met twice has both gradients
            gradients[row] = gradients.get(row, 0) + factor
        steps.append((gradients, rate(step)))
        unmet = sorted(set(range(rows)) - set(idx))
        still = {name: tensor.clone() for name, tensor in {"weight": weight.detach(), **optimizer.state()}.items()}
        optimizer.step(looked_up(weight, torch.tensor(idx), factors), rate(step))
        for name, tensor in {"weight": weight.detach(), **optimizer.state()}.items():
            if name == "steps":
                assert tensor.item() == step + 1
            else:
                assert torch.equal(tensor[unmet], still[name][unmet])
                assert (tensor[idx] != still[name][idx]).all()

    expected = by_hand(before.double().numpy(), steps)
    np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    never = sorted(set(range(rows)) - {row for gradients, _ in steps for row in gradients})
    assert never == [1, 2, 4, 6, 7]
    assert torch.equal(weight[never], before[never])


def test_a_sparse_gradient_of_all_rows_is_a_whole_one() -> None:
    """The kernel takes eight numbers at a time, and so another way to the last bit where they are cut otherwise."""
    torch.manual_seed(7)
    sparse, whole = (nn.Parameter(torch.ones(5, 8)) for _ in range(2))
    optimizers = AdamW([sparse]), AdamW([whole])
    for step in range(20):
        factors = torch.randn(5, 8)
        order = torch.randperm(5)
        optimizers[0].step(looked_up(sparse, order, factors), rate(step))
        optimizers[1].step((whole[order] * factors).sum(), rate(step))
    torch.testing.assert_close(sparse, whole, rtol=1e-6, atol=1e-7)
    assert not torch.equal(sparse, torch.ones(5, 8))


def test_sparse_and_whole_gradients_go_together() -> None:
    torch.manual_seed(8)
    table, bias = nn.Parameter(torch.randn(6, 3)), nn.Parameter(torch.randn(3))
    alone = copy.deepcopy(bias)
    before = table.detach().clone()
    optimizer, its_own = AdamW([table, bias]), torch.optim.AdamW([alone], fused=True)
    for step in range(5):
        optimizer.step(looked_up(table, torch.tensor([1, 4]), torch.ones(2, 3)) + bias.square().sum(), rate(step))
        torchs(its_own, alone.square().sum(), rate(step))
    assert torch.equal(bias, alone)
    assert (table != before).any(dim=1).tolist() == [False, True, False, False, True, False]


# --- its state --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [attention, bigram])
def test_another_optimizer_with_its_state_carries_on_as_it_would(make: Callable[[], LanguageModel]) -> None:
    def steps(model: LanguageModel, optimizer: AdamW, some: range) -> None:
        for step in some:
            idx, targets = torch.randint(V, (2, B, T), generator=torch.Generator().manual_seed(step))
            optimizer.step(model.loss(idx, targets), rate(step))

    model = make()
    optimizer = AdamW(model.parameters())
    steps(model, optimizer, range(5))
    copied = copy.deepcopy(model)
    its_optimizer = AdamW(copied.parameters())
    its_optimizer.load_state(optimizer.state())
    steps(model, optimizer, range(5, 10))  # which must not reach the other by a shared tensor
    steps(copied, its_optimizer, range(5, 10))
    for found, wanted in zip(copied.parameters(), model.parameters(), strict=True):
        assert torch.equal(found, wanted)


def test_a_state_that_lacks_a_tensor_is_an_error() -> None:
    optimizer = AdamW(bigram().parameters())
    state = optimizer.state()
    assert state.keys() == {"0.mean", "0.square", "steps"}
    del state["0.square"]
    with pytest.raises(KeyError, match=r"0\.square"):
        optimizer.load_state(state)
