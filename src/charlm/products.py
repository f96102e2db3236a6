"""Matrix products that are the same bits on every processor, and fast.

oneMKL, which torch calls, chooses its instructions by the processor's maker; pinned to what all have in common it
needs three times as long. numpy's OpenBLAS takes the kernels that OPENBLAS_CORETYPE names, whoever made the processor.
"""

import os
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from charlm.numerics import environment

_KERNELS = "OPENBLAS_CORETYPE"
_PINNED = os.environ.get(_KERNELS) == environment("portable")[_KERNELS]

# torch says nothing of numbers that are not finite either: whoever looks at the loss does.
warnings.filterwarnings("ignore", message=".* encountered in matmul", category=RuntimeWarning)


def matmul(a: Tensor, b: Tensor, add: Tensor | None = None) -> Tensor:
    """Return a @ b, (..., M, N) of float32 a (..., M, K) and b (..., K, N) with the same leading sizes, if any.

    On the CPU under portable numerics numpy computes it and its gradient, else torch does.

    Args:
        a: 2 or 3 dimensions.
        b: as many.
        add: added to the product, without another copy of it; of a shape that broadcasts to the product's.
    """
    if _PINNED and a.device.type == "cpu":
        product: Tensor = _Product.apply(a, b, add)  # type: ignore[no-untyped-call]
        return product
    if add is None:
        return a @ b
    return torch.addmm(add, a, b) if a.ndim == 2 else torch.baddbmm(add, a, b)


class _Product(torch.autograd.Function):
    """numpy's matmul with its gradient."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, add: Tensor | None) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.added = None if add is None else add.shape
        product = _multiply(a.detach(), b.detach())
        return product if add is None else product.add_(add)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        a, b = ctx.saved_tensors
        to_add = gradient.sum_to_size(ctx.added) if ctx.needs_input_grad[2] else None
        return _multiply(gradient, b.mT), _multiply(a.mT, gradient), to_add


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))
