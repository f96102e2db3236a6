"""Products are those of the textbook, however their operands lie in memory, whoever computes them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm import numerics, products
from charlm.models.attention import AttentionLanguageModel
from charlm.products import matmul

SOURCE = Path(products.__file__).parent.parent


@pytest.fixture(params=["numpy", "torch"])
def _computed_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process with portable numerics, and in one without."""
    monkeypatch.setattr(products, "_PINNED", request.param == "numpy")


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


# Pairs of operands: plain ones of many shapes, and such as do not lie in order.
OPERANDS: dict[str, Callable[[], tuple[Tensor, Tensor]]] = {
    "numbers": lambda: (random(1, 1), random(1, 1)),
    "a row and a column": lambda: (random(1, 7), random(7, 1)),
    "a column and a row": lambda: (random(7, 1), random(1, 7)),
    "matrices": lambda: (random(5, 33), random(33, 9)),
    "wide matrices": lambda: (random(130, 65), random(65, 257)),
    "none in the middle": lambda: (random(2, 0), random(0, 3)),
    "none at all": lambda: (random(0, 4), random(4, 3)),
    "one in a batch": lambda: (random(1, 4, 6), random(1, 6, 5)),
    "a batch": lambda: (random(32, 31, 16), random(32, 16, 31)),
    "a batch of batches": lambda: (random(2, 3, 4, 5), random(2, 3, 5, 6)),
    "a batch and one matrix": lambda: (random(4, 3, 5), random(5, 6)),
    "a transposed": lambda: (random(6, 4).mT, random(6, 5)),
    "b transposed": lambda: (random(4, 6), random(5, 6).mT),
    "both transposed": lambda: (random(3, 6, 4).mT, random(3, 5, 6).mT),
    "time before batch": lambda: (random(4, 3, 6).transpose(0, 1), random(6, 3, 5).transpose(0, 1)),
    "a expanded": lambda: (random(1, 6).expand(4, 6), random(6, 5)),
    "b expanded over the batch": lambda: (random(3, 4, 6), random(1, 6, 5).expand(3, 6, 5)),
    "one number expanded": lambda: (random(1, 1).expand(4, 6), random(6, 5)),
    "thirds of the last side": lambda: (random(3, 4, 18).chunk(3, dim=-1)[1], random(3, 5, 18).chunk(3, dim=-1)[2].mT),
    "every other row": lambda: (random(9, 6)[::2], random(11, 5)[::2]),
    "every other column": lambda: (random(4, 11)[:, ::2], random(6, 9)[:, ::2]),
    "the last row of each": lambda: (random(3, 4, 6)[:, -1:], random(3, 5, 6).mT),
    "turned round": lambda: (random(4, 6).flip(0, 1), random(6, 5).flip(0)),
    "from the middle of the memory": lambda: (random(25)[1:].view(4, 6), random(33)[3:].view(6, 5)),
}


def is_near(found: Tensor, a: Tensor, b: Tensor) -> bool:
    """Say whether it is a @ b but for the rounding of float32 that each of K additions and products may bring."""
    exact, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    within = a.shape[-1] * torch.finfo(torch.float32).eps * size
    return found.shape == exact.shape and bool(((found.double() - exact).abs() <= within).all())


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("name", OPERANDS)
def test_the_product_and_its_gradients_are_near_the_exact_ones(name: str) -> None:
    a, b = OPERANDS[name]()
    # Views of leaves, so that what the operands are made of has the gradient.
    a, b = (operand.detach().requires_grad_() for operand in (a, b))
    product = matmul(a, b)
    assert product.dtype == torch.float32
    assert is_near(product.detach(), a.detach(), b.detach())

    plain = random(*product.shape)
    spread = random(*product.shape[:-2], 1, 1).expand(product.shape)  # as the gradient of a sum is
    turned = random(*product.shape[:-2], *product.shape[:-3:-1]).mT
    for gradient in (plain, spread, turned):
        of_a, of_b = torch.autograd.grad(product, [a, b], gradient, retain_graph=True)
        assert of_a.shape == a.shape
        assert of_b.shape == b.shape
        assert is_near(of_a, gradient, b.detach().mT)
        if a.dim() == b.dim():
            assert is_near(of_b, a.detach().mT, gradient)
        else:  # one matrix for the whole batch: it has the gradients of all
            assert is_near(of_b, a.detach().flatten(0, -2).mT, gradient.flatten(0, -2))


@pytest.mark.usefixtures("_computed_by")
def test_its_gradient_is_the_slope() -> None:
    """By finite differences, in double precision."""
    for name in ("matrices", "a batch", "a batch and one matrix", "both transposed", "b expanded over the batch"):
        a, b = (operand.detach()[..., :4, :4].double().requires_grad_() for operand in OPERANDS[name]())
        assert torch.autograd.gradcheck(matmul, [a, b])
        assert torch.autograd.gradcheck(lambda a, b: matmul(a * 2, matmul(b, b.mT)).sum(), [a, b])


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize(("name", "shape"), [("matrices", (9,)), ("matrices", (5, 9)), ("a batch", (9, 9))])
def test_what_is_added_to_the_product_is_added_once_and_has_the_gradients_of_all_its_places(
    name: str, shape: tuple[int, ...]
) -> None:
    a, b = (operand[..., :9, :9].double().requires_grad_() for operand in OPERANDS[name]())
    add = random(*shape).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda add: matmul(a.detach(), b.detach(), add), [add])
    before = add.detach().clone()
    found, expected = matmul(a, b, add), a @ b + add
    gradients = [torch.autograd.grad((sum_ * sum_).sum(), [a, b, add]) for sum_ in (found, expected)]
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*gradients)
    assert torch.equal(add, before)


@pytest.mark.usefixtures("_computed_by")
@pytest.mark.parametrize("which", [0, 1])
def test_one_operand_may_have_no_gradient(which: int) -> None:
    operands = [random(3, 4), random(4, 5)]
    operands[which].requires_grad_()
    (gradient,) = torch.autograd.grad(matmul(operands[0], operands[1]).sum(), [operands[which]])
    assert gradient.shape == operands[which].shape


@pytest.mark.usefixtures("_computed_by")
def test_it_computes_where_nothing_has_a_gradient() -> None:
    a, b = random(3, 4).requires_grad_(), random(4, 5)
    expected = a.detach() @ b
    with torch.inference_mode():
        torch.testing.assert_close(matmul(a, b), expected)
    with torch.no_grad():
        product = matmul(a, b)
    assert not product.requires_grad
    torch.testing.assert_close(product, expected)


@pytest.mark.usefixtures("_computed_by")
def test_neither_operand_is_changed_and_the_product_is_its_own() -> None:
    a, b = random(3, 4), random(4, 5)
    before = a.clone(), b.clone()
    matmul(a, b).zero_()
    assert torch.equal(a, before[0])
    assert torch.equal(b, before[1])


@pytest.mark.usefixtures("_computed_by")
def test_numbers_that_are_not_finite_come_through() -> None:
    a = torch.tensor([[float("nan"), 1.0], [float("inf"), 1.0], [1.0, 1.0]])
    with np.errstate(all="ignore"):
        product = matmul(a, torch.ones(2, 1))
    torch.testing.assert_close(product, torch.tensor([[float("nan")], [float("inf")], [2.0]]), equal_nan=True)


@pytest.mark.parametrize("pinned", [True, False])
def test_numpy_computes_the_attention_where_it_is_pinned_and_nowhere_else(
    pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every product of it, forwards and backwards: two of them six times, three for a text that is drawn."""
    shapes = []
    multiply = products._multiply

    def watch(a: Tensor, b: Tensor) -> Tensor:
        shapes.append((tuple(a.shape), tuple(b.shape)))
        return multiply(a, b)

    monkeypatch.setattr(products, "_PINNED", pinned)
    monkeypatch.setattr(products, "_multiply", watch)
    model = AttentionLanguageModel(vocab_size=11, block_size=8, n_embd=6, head_size=4)
    idx, targets = torch.randint(11, (2, 3, 8))
    loss = model.loss(idx, targets)
    forwards = [((19, 6), (6, 12)), ((3, 8, 4), (3, 4, 8)), ((3, 8, 8), (3, 8, 4)), ((24, 4), (4, 11))]
    assert shapes == (forwards if pinned else [])
    torch.autograd.grad(loss, list(model.parameters()))
    assert len(shapes) == (4 + 2 * 4 if pinned else 0)
    shapes.clear()
    model.next_logits(idx)
    assert len(shapes) == (4 if pinned else 0)


# What a process prints that was started with the variables of charlm.numerics: the bits of a product and of its
# gradients, whether numpy made it, and what numpy's own kernels and torch's make of the same numbers.
PROGRAM = """
import numpy as np, torch
from charlm.products import matmul
generator = torch.Generator().manual_seed(1)
a = torch.randn(64, 130, generator=generator).requires_grad_()
b = torch.randn(130, 70, generator=generator).requires_grad_()
product = matmul(a, b)
gradients = torch.autograd.grad(product.square().sum(), [a, b])
print(type(product.grad_fn).__name__)
print(np.array_equal(product.detach().numpy(), a.detach().numpy() @ b.detach().numpy()))
exact = a.double() @ b.double()
twice = 2 * exact
for found, wanted in zip((product, *gradients), (exact, twice @ b.double().mT, a.double().mT @ twice)):
    print(torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-2 if wanted is not exact else 1e-4))
matmul(torch.full((4, 4), 1e30), torch.full((4, 4), 1e30))  # a warning of this would end the process
"""


@pytest.mark.parametrize(("which", "maker"), [("portable", "_ProductBackward"), ("native", "MmBackward0")])
def test_a_process_with_portable_numerics_takes_numpys_products(which: str, maker: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in numerics.environment("portable")}
    found = subprocess.check_output(
        [sys.executable, "-c", PROGRAM],
        env=inherited | numerics.environment(which) | {"PYTHONPATH": str(SOURCE)},
        stderr=subprocess.STDOUT,
        text=True,
    ).splitlines()
    assert found[0] == maker
    if which == "portable":
        assert found[1] == "True"
    assert found[2:] == ["True"] * 3, "and no warning"
