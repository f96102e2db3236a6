"""The code that a process runs, as it was when the process started: what is edited meanwhile is not what it runs."""

import sys
from collections.abc import Iterator
from pathlib import Path

from charlm.files import sha256

_PACKAGE = Path(__file__).resolve().parent
_MAIN = Path(getattr(sys.modules["__main__"], "__file__", None) or __file__).resolve()

CODE = {str(path.relative_to(_PACKAGE)): sha256(path) for path in sorted(_PACKAGE.rglob("*.py"))}  # SHA-256 by name
_MAIN_HASH = sha256(_MAIN) if _MAIN.is_file() else None


def changed() -> Iterator[str]:
    """Yield the names of this process's modules whose files are not what they were when it started."""
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for name, before in CODE.items():
        path = _PACKAGE / name
        if str(path) in loaded and not (path.is_file() and sha256(path) == before):
            yield f"src/charlm/{name}"
    if _MAIN_HASH and not (_MAIN.is_file() and sha256(_MAIN) == _MAIN_HASH):
        yield f"{_MAIN.parent.name}/{_MAIN.name}"


def refusal(name: str) -> str:
    """Say what follows when `name` changed."""
    return f"{name} changed while this ran, and DVC would record the new one with the old result; run `dvc repro` again"
