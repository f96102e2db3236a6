"""Trained weights with their shape and vocabulary, in one safetensors file that notices any damage."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from charlm.errors import CharlmError
from charlm.files import write_bytes
from charlm.models.contract import LanguageModel
from charlm.vocabulary import Vocabulary

_FORMAT = 2
_UNTOLD: Mapping[str, float] = MappingProxyType({})
_KEY = "charlm"  # one metadata entry only: with several, safetensors writes them in an order that varies


@dataclass(frozen=True)
class Header:
    """What a checkpoint says of itself.

    Attributes:
        model: the module in `charlm.models` whose class the weights belong to.
        shape: the arguments that build the model.
        characters: the vocabulary, in id order.
        training: how it was trained, for the reader's sake.
        corpus_sha256: of the text it was trained on, for the reader's sake.
    """

    model: str
    shape: dict[str, int]
    characters: list[str]
    training: dict[str, float]
    corpus_sha256: str
    format: int = _FORMAT


def save(
    path: Path,
    model: LanguageModel,
    vocabulary: Vocabulary,
    training: Mapping[str, float] = _UNTOLD,
    corpus_sha256: str = "",
) -> None:
    """Write the weights of `model` atomically; the bytes depend on the arguments alone."""
    weights = {name: weight.detach().cpu().contiguous() for name, weight in model.state_dict().items()}
    name = type(model).__module__.rpartition(".")[2]
    header = Header(name, model.shape, list(vocabulary.characters), dict(training), corpus_sha256)
    metadata = {"header": asdict(header), "sha256": _digest(header, weights)}
    write_bytes(path, safetensors.torch.save(weights, {_KEY: json.dumps(metadata, sort_keys=True)}))


def load(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """Read a checkpoint, and check it against the hash it carries.

    Raises:
        CharlmError: when the file is truncated, altered, not finite, or of another format.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = json.loads(file.metadata()[_KEY])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        format_found = metadata["header"]["format"]
        if format_found != _FORMAT:
            raise CharlmError(f"{path} has checkpoint format {format_found}, this program reads {_FORMAT}; train anew")
        header = Header(**metadata["header"])
        intact = metadata["sha256"] == _digest(header, weights)
    except FileNotFoundError:
        raise CharlmError(f"{path} is missing; run `dvc repro` or `dvc checkout` to bring it back") from None
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CharlmError(f"{path} is damaged ({error}); {_REMEDY}") from None
    if not intact:
        raise CharlmError(f"{path} is damaged (its content does not match the SHA-256 it carries); {_REMEDY}")
    if not all(torch.isfinite(weight).all() for weight in weights.values()):
        raise CharlmError(f"{path} holds weights that are not finite; train anew with a smaller learning rate")
    return header, weights


_REMEDY = "delete it and run `dvc repro` to make it anew"


def _digest(header: Header, weights: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(asdict(header), sort_keys=True).encode())
    for name, weight in sorted(weights.items()):
        digest.update(f"\n{name} {weight.dtype} {list(weight.shape)}\n".encode())
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()
