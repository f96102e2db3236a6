"""How far a run has come, kept outside DVC's outputs (it deletes those), so that a killed run carries on.

Losing this state costs time and never a result: batches are a pure function of seed and step, so a run that
carries on and one that starts over end with the same bytes. So any doubt about a state discards it, and none is
forced to the disk: after a power cut its hash tells whether it is whole.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch
from torch import Tensor

from charlm.adamw import AdamW
from charlm.errors import CharlmError
from charlm.files import sha256
from charlm.models.contract import LanguageModel
from charlm.numerics import environment
from charlm.source_code import CODE
from charlm.training import CurvePoint

_HASH_BYTES = hashlib.sha256().digest_size
_KEY = "run"


def fingerprint(settings: dict[str, Any], data: Iterable[Path]) -> str:
    """Return a hash of all that shapes a run: settings, data, code, libraries and the processor's part.

    Args:
        settings: model, seed, budget and so on, as JSON can hold them.
        data: the files that the run reads.
    """
    shaping = {
        "settings": settings,
        "data": [_content(path) for path in data],
        "code": CODE,
        "versions": [torch.__version__, np.__version__, platform.python_version()],
        "processor": [platform.machine(), torch.backends.cpu.get_cpu_capability()],
        "pins": {name: os.environ.get(name) for name in sorted(environment("portable"))},
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> str:
    """Return a file's SHA-256. A process does many turns of many runs on the same files, and reads each once."""
    state = path.stat()
    return _content_as_of(path, state.st_ino, state.st_size, state.st_mtime_ns)


@cache
def _content_as_of(path: Path, *state: int) -> str:
    return sha256(path)


def save(path: Path, of: str, model: LanguageModel, optimizer: AdamW, curve: Sequence[CurvePoint]) -> None:
    """Keep the state after the last point of `curve`, and the one before it as a second generation.

    Args:
        path: where; the older generation lies beside it.
        of: the run's `fingerprint`.
        model: its weights.
        optimizer: its moments and its count of steps.
        curve: the losses so far; the last point's step is where the run carries on.

    Raises:
        CharlmError: when the file cannot be written.
    """
    tensors = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    tensors |= {f"optimizer.{name}": tensor for name, tensor in optimizer.state().items()}
    record = {"fingerprint": of, "curve": [vars(point) for point in curve]}
    # As arrays, which take safetensors half the time that tensors do.
    arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
    body = safetensors.numpy.save(arrays, {_KEY: json.dumps(record)})
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(hashlib.sha256(body).digest())
            file.write(body)
        if path.exists():
            _older(path).unlink(missing_ok=True)  # a rename onto a file would have ext4 write it out at once
            path.replace(_older(path))
        temporary.replace(path)
    except OSError as error:
        raise CharlmError(
            f"{path} cannot be written ({error.strerror}); mend that, and `dvc repro` carries on from the state before"
        ) from None


def load(
    path: Path,
    of: str,
    model: LanguageModel,
    optimizer: AdamW,
    say: Callable[[str], None],
) -> list[CurvePoint]:
    """Bring `model` and `optimizer` to the newest state that is whole and of this run; return its loss curve.

    Returns:
        The points so far, none when there is nothing to carry on from. `say` gets one line when a state is
        refused.
    """
    found = refusal = None
    for candidate in (path, _older(path)):
        try:
            found = _read(candidate, of)
            break
        except FileNotFoundError:
            continue
        except _OtherRunError:
            why = "is of a run with other parameters, data or code"
        except (OSError, safetensors.SafetensorError, ValueError, KeyError, TypeError):
            why = "is torn or altered"
        refusal = refusal or f"{candidate} {why}: not used"
    if refusal:
        say(refusal)
    if found is None:
        return []
    curve, tensors = found
    model.load_state_dict(_part(tensors, "model."))
    optimizer.load_state(_part(tensors, "optimizer."))
    return curve


class _OtherRunError(Exception):
    """The state is whole, and of another run."""


def _older(path: Path) -> Path:
    return path.with_suffix(".older")


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read(path: Path, of: str) -> tuple[list[CurvePoint], dict[str, Tensor]]:
    with path.open("rb") as file:
        digest, body = file.read(_HASH_BYTES), file.read()
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("the content does not match its hash")
    header_bytes = int.from_bytes(body[:8], "little")  # the format's own: a length, then JSON
    record = json.loads(json.loads(body[8 : 8 + header_bytes])["__metadata__"][_KEY])
    if record["fingerprint"] != of:
        raise _OtherRunError
    return [CurvePoint(**point) for point in record["curve"]], safetensors.torch.load(body)
