"""How much memory a training takes, told before it is taken."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel

_BASE = 190e6  # bytes of Python and torch, at work, that no other process shares
# Itself and AdamW's two moments, each a float32; and all three twice more while safetensors makes a state of them.
_BYTES_PER_PARAMETER = 3 * 3 * 4
# A float32 each for itself, its log-probability, their gradients, and what of the rows met is summed up and moved.
_BYTES_PER_LOGIT = 10 * 4
_MUCH = 100e6  # bytes, beyond the base


def check(build: Callable[[], LanguageModel], places: int, processes: int, say: Callable[[str], None]) -> None:
    """Say how much memory a large model takes.

    Args:
        build: makes the model.
        places: of a batch, each with its V logits.
        processes: how many train side by side.
        say: gets a line, when it is much.

    Raises:
        CharlmError: when that is more than this machine has.
    """
    with torch.device("meta"), _Shapes():
        model = build()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    buffers = sum(buffer.nbytes for buffer in model.buffers())
    own = parameters * _BYTES_PER_PARAMETER + buffers + places * model.vocab_size * _BYTES_PER_LOGIT
    what = f"to train the model's {parameters:,} parameters takes at least {_megabytes(_BASE + own)}"
    if processes > 1:
        what += f" in each of {processes} processes side by side"
    if processes * (_BASE + own) > available():
        fewer = "set CHARLM_JOBS=1, " if processes > 1 else ""
        raise CharlmError(
            f"{what}, and this machine has {_megabytes(available())}; {fewer}take a text with fewer distinct "
            "characters, or a smaller model"
        )
    if own > _MUCH:
        say(f"{what}{' (CHARLM_JOBS says how many)' if processes > 1 else ''}")


class _Shapes(TorchFunctionMode):
    """Leave tensors that have no content as they are where only their content would change.

    To find out that nothing changes, torch would load its compiler, which takes as long as torch itself.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init" or func in (torch.Tensor.triu, torch.Tensor.tril):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def available() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"
