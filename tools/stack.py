"""What the bytes of the results depend on beside code, parameters and data: the machine's kind and the libraries."""

import platform
import re
from collections.abc import Mapping

import matplotlib
import numpy as np
import safetensors
import torch


def here() -> dict[str, str]:
    """Return what this process computes with; the version of torch names its build, if that might matter."""
    # The builds for CPU and for CUDA make the same bytes on a CPU: measured with 2.13.0+cpu and 2.13.0+cu130.
    torch_version = re.sub(r"\+(cpu|cu\d+)$", "", torch.__version__)
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": torch_version,
        "numpy": np.__version__,
        "matplotlib": matplotlib.__version__,
        "safetensors": safetensors.__version__,
    }


def differences(made_with: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Say in a phrase each what `found` has otherwise than the stack that the committed bytes were made with."""
    return [
        f"{name} is {found.get(name)}, not {wanted}" for name, wanted in made_with.items() if found.get(name) != wanted
    ]
