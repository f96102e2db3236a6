"""Token files as they are read. Without torch, which `charlm inspect` must not import before it is set up.

N tokens.
"""

from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charlm.errors import CharlmError

Tokens = NDArray[np.unsignedinteger[Any]]


def load(path: Path) -> Tokens:
    """Map the tokens (N,) of a file into memory: pages are read when used, so a large file costs no memory.

    Raises:
        CharlmError: when the file holds no tokens.
    """
    try:
        tokens = np.lib.format.open_memmap(path, mode="r")  # np.load would take a zip file or a pickle, too
    except (ValueError, SyntaxError, TokenError):  # numpy reads a header as Python reads a program
        raise _refusal(path) from None
    if tokens.ndim != 1 or tokens.dtype.kind != "u":
        raise _refusal(path)
    return np.asarray(tokens)  # a plain view of the map: indexing np.memmap itself is several times slower


def _refusal(path: Path) -> CharlmError:
    return CharlmError(f"{path} is no token file; run `dvc repro tokenize` to make it anew")
