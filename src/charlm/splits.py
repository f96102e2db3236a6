"""Text read strictly, its ids cut by position into train and validation, and written as token files.

`charlm.tokens` reads them; it needs torch, and the stage tokenize does not.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charlm.errors import CharlmError
from charlm.files import atomic


def read_text(path: Path) -> str:
    """Return the file's text, read as strict UTF-8.

    Raises:
        CharlmError: with the offset of the first byte that is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CharlmError(
            f"{path} is not UTF-8 at byte {error.start} (0x{error.object[error.start]:02x}: {error.reason}); "
            "convert what data.sources or CHARLM_CORPUS names, for instance with iconv -f latin1 -t utf-8"
        ) from None


def split(ids: NDArray[Any], val_fraction: float, block_size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cut the ids (N,) by position into train, the first part, and validation, the last `val_fraction`.

    Raises:
        CharlmError: when a part is too short for one window of block_size predictions.
    """
    train_size = int(len(ids) * (1 - Fraction(str(val_fraction))))  # exact: 1 - 0.89 as a float loses a character
    for name, size in (("train", train_size), ("validation", len(ids) - train_size)):
        if size < block_size + 1:
            raise CharlmError(
                f"the {name} split has {size} of the text's {len(ids)} characters, and one window needs "
                f"{block_size + 1} (block_size + 1); take a longer text, a smaller train.block_size, "
                f"or another tokenize.val_fraction"
            )
    return ids[:train_size], ids[train_size:]


def save_tokens(path: Path, ids: NDArray[Any]) -> None:
    """Write ids (N,) as a .npy file, which carries its type and length."""
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.save(file, ids, allow_pickle=False)
