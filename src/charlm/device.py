"""The torch side of reproducible numbers: which device computes, and proof that the pins took."""

import ctypes
import os
import platform
from pathlib import Path

import numpy as np
import torch

from charlm.errors import CharlmError
from charlm.numerics import environment


def settle(device: str, numerics: str) -> torch.device:
    """Make torch deterministic and return the device for `device` ('cpu', 'cuda', 'mps' or 'auto').

    Raises:
        CharlmError: when this machine lacks the device, or the pins of `charlm.numerics` did not take.
    """
    torch.set_num_threads(1)
    # The same as torch.use_deterministic_algorithms(True), which would also load the compiler, in two seconds.
    torch.set_deterministic_debug_mode("error")
    # What that adds helps to find bugs, and costs time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    if numerics == "portable" and platform.machine() in ("x86_64", "AMD64"):
        _demand_pins()
    return _find(device)


def _demand_pins() -> None:
    pins = environment("portable")
    kernels = pins["OPENBLAS_CORETYPE"]
    for what, found, wanted in (
        ("torch computes with", torch.backends.cpu.get_cpu_capability(), "AVX2"),
        # oneMKL does not tell how it computes, so the variable that it reads has to do.
        ("MKL_CBWR is", os.environ.get("MKL_CBWR", "not set"), pins["MKL_CBWR"]),
        ("OPENBLAS_CORETYPE is", os.environ.get("OPENBLAS_CORETYPE", "not set"), kernels),
        ("numpy was loaded before OPENBLAS_CORETYPE was set, and computes with", _openblas_core() or kernels, kernels),
    ):
        if found != wanted:
            raise CharlmError(
                f"{what} {found}, not {wanted}, so the numbers would differ from other machines'; "
                "set compute.numerics to native to accept that"
            )


def _openblas_core() -> str | None:
    """Return which kernels numpy's OpenBLAS computes with; None where numpy was not built with one of its own."""
    for library in Path(np.__file__).parent.parent.glob("numpy.libs/libscipy_openblas*"):
        core = getattr(ctypes.CDLL(str(library)), "scipy_openblas_get_corename64_", None)
        if core is not None:
            core.restype = ctypes.c_char_p
            return str(core().decode())
    return None


def _find(name: str) -> torch.device:
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, here in present.items() if here)
    if not present[name]:
        here = " or ".join(device for device, is_here in present.items() if is_here)
        raise CharlmError(f"compute.device is '{name}', which this machine lacks; set it to {here} or auto")
    return torch.device(name)
