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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from charlm.errors import CharlmError
from charlm.files import sha256
from charlm.models.contract import LanguageModel
from charlm.numerics import environment
from charlm.tokens import Tokens
from charlm.training import CurvePoint

_HASH_BYTES = hashlib.sha256().digest_size
_KEY = "run"
_SOURCES = Path(__file__).parent
# Read when the process starts: what is edited while it runs is not what it runs.
_CODE = {str(path.relative_to(_SOURCES)): sha256(path) for path in sorted(_SOURCES.rglob("*.py"))}


def fingerprint(settings: dict[str, Any], data: Iterable[Tokens]) -> str:
    """Return a hash of all that shapes a run: settings, data, code, libraries and the processor's part.

    Args:
        settings: model, seed, budget and so on, as JSON can hold them.
        data: the tokens that the run reads.
    """
    shaping = {
        "settings": settings,
        "data": [[str(tokens.dtype), hashlib.sha256(tokens.data).hexdigest()] for tokens in data],
        "code": _CODE,
        "versions": [torch.__version__, np.__version__, platform.python_version()],
        "processor": [platform.machine(), torch.backends.cpu.get_cpu_capability()],
        "pins": {name: os.environ.get(name) for name in sorted(environment("portable"))},
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def save(
    path: Path, of: str, model: LanguageModel, optimizer: torch.optim.Optimizer, curve: Sequence[CurvePoint]
) -> None:
    """Keep the state after the last point of `curve`, and the one before it as a second generation.

    Args:
        path: where; the older generation lies beside it.
        of: the run's `fingerprint`.
        model: its weights.
        optimizer: its moments and step counts.
        curve: the losses so far; the last point's step is where the run carries on.

    Raises:
        CharlmError: when the file cannot be written.
    """
    tensors = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    for number, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in moments.items()}
    record = {"fingerprint": of, "curve": [asdict(point) for point in curve]}
    body = safetensors.torch.save(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {_KEY: json.dumps(record)}
    )
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(body).digest() + body)
        if path.exists():
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
    optimizer: torch.optim.Optimizer,
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
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _part(tensors, "optimizer.").items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return curve


class _OtherRunError(Exception):
    """The state is whole, and of another run."""


def _older(path: Path) -> Path:
    return path.with_suffix(".older")


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read(path: Path, of: str) -> tuple[list[CurvePoint], dict[str, Tensor]]:
    content = path.read_bytes()
    digest, body = content[:_HASH_BYTES], content[_HASH_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("the content does not match its hash")
    header_bytes = int.from_bytes(body[:8], "little")  # the format's own: a length, then JSON
    record = json.loads(json.loads(body[8 : 8 + header_bytes])["__metadata__"][_KEY])
    if record["fingerprint"] != of:
        raise _OtherRunError
    return [CurvePoint(**point) for point in record["curve"]], safetensors.torch.load(body)
