"""AdamW (Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2) for the training loop."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_WEIGHT_DECAY = 0.01


class AdamW:
    """torch's fused AdamW kernel with torch's defaults, without what torch.optim wraps around it.

    The wrapper costs a small model more than the arithmetic does. The fused kernel, because its square root is the
    processor's own: torch.sqrt is not the same on each of them.

    A parameter whose gradient is sparse moves, and decays, only in the rows that the gradient has, so a step costs
    what those rows cost, however many there are.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        self._means = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in self._parameters]
        # One for all parameters on a device: they move together. The kernel wants it as a tensor of that device.
        self._steps = torch.zeros((), device=self._parameters[0].device)

    def step(self, loss: Tensor, learning_rate: float) -> None:
        """Move the parameters one step down the gradient of `loss`."""
        gradients = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
        self._steps += 1
        state = zip(self._parameters, gradients, self._means, self._squares, strict=True)
        whole = []
        with torch.no_grad():
            for parameter, gradient, mean, square in state:
                if gradient.is_sparse:
                    _move_rows(self._steps, learning_rate, parameter, gradient.coalesce(), mean, square)
                else:  # the kernel reads memory in order, whatever the strides say
                    whole.append((parameter, gradient.contiguous(), mean, square))
            if whole:
                _move(self._steps, learning_rate, *map(list, zip(*whole, strict=True)))

    def state(self) -> dict[str, Tensor]:
        """Return the moments, by the number of the parameter, and the number of steps."""
        kinds = {"mean": self._means, "square": self._squares}
        moments = {f"{i}.{kind}": tensor for kind, of in kinds.items() for i, tensor in enumerate(of)}
        return moments | {"steps": self._steps}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take up the moments and the number of steps that `state` returned. Raises KeyError when one is missing."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])


def _move_rows(
    steps: Tensor, learning_rate: float, parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor
) -> None:
    """Move the rows of `parameter` that the sparse `gradient` has."""
    (rows,) = gradient.indices()
    parts = [tensor[rows] for tensor in (parameter, mean, square)]
    _move(steps, learning_rate, [parts[0]], [gradient.values()], [parts[1]], [parts[2]])
    for tensor, part in zip((parameter, mean, square), parts, strict=True):
        tensor[rows] = part


def _move(
    steps: Tensor,
    learning_rate: float,
    parameters: list[Tensor],
    gradients: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
) -> None:
    torch._fused_adamw_(
        parameters,
        gradients,
        means,
        squares,
        [],  # what the variant AMSGrad keeps
        [steps] * len(parameters),
        lr=learning_rate,
        beta1=_BETAS[0],
        beta2=_BETAS[1],
        weight_decay=_WEIGHT_DECAY,
        eps=_EPSILON,
        amsgrad=False,
        maximize=False,
    )
