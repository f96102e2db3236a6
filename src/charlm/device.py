"""The torch side of reproducible numbers: which device computes, and proof that the pins took."""

import os
import platform

import torch

from charlm.errors import CharlmError
from charlm.numerics import environment


def settle(device: str, numerics: str) -> torch.device:
    """Make torch deterministic and return the device for `device` ('cpu', 'cuda', 'mps' or 'auto').

    Raises:
        CharlmError: when this machine lacks the device, or the pins of `charlm.numerics` did not take.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if numerics == "portable" and platform.machine() in ("x86_64", "AMD64"):
        capability = torch.backends.cpu.get_cpu_capability()
        if capability != "AVX2":
            raise CharlmError(
                f"torch computes with {capability}, not AVX2, so the numbers would differ from other machines'; "
                "set compute.numerics to native to accept that"
            )
        # oneMKL tells nobody how it computes, so the variable it read has to do.
        wanted, found = environment("portable")["MKL_CBWR"], os.environ.get("MKL_CBWR", "not set")
        if found != wanted:
            raise CharlmError(
                f"MKL_CBWR is {found}, not {wanted}, so the numbers would differ from other machines'; "
                "set compute.numerics to native to accept that"
            )
    return _find(device)


def _find(name: str) -> torch.device:
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, here in present.items() if here)
    if not present[name]:
        here = " or ".join(device for device, is_here in present.items() if is_here)
        raise CharlmError(f"compute.device is '{name}', which this machine lacks; set it to {here} or auto")
    return torch.device(name)
