"""A checkpoint gives back what was saved, or an error: never anything else."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from charlm import checkpoint
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.vocabulary import Vocabulary

CHARACTERS = '\n"é→'  # what JSON escapes, and what it need not


@pytest.fixture
def bigram() -> BigramLanguageModel:
    torch.manual_seed(1)
    return BigramLanguageModel(vocab_size=4, block_size=2)


@pytest.fixture
def path(tmp_path: Path, bigram: BigramLanguageModel) -> Path:
    """The smallest of checkpoints."""
    checkpoint.save(tmp_path / "seed-1.safetensors", bigram, Vocabulary.of(CHARACTERS))
    return tmp_path / "seed-1.safetensors"


def content(path: Path) -> tuple[checkpoint.Header, list[tuple[str, torch.dtype, list[Any]]]]:
    header, weights = checkpoint.load(path)
    return header, [(name, weight.dtype, weight.tolist()) for name, weight in sorted(weights.items())]


def error(path: Path) -> str:
    """Return the error in loading: one line that names the file."""
    with pytest.raises(CharlmError) as caught:
        checkpoint.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_weights_shape_and_vocabulary_come_back_to_the_bit(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = AttentionLanguageModel(vocab_size=4, block_size=3, n_embd=5, head_size=2)
    checkpoint.save(tmp_path / "a", model, Vocabulary.of(CHARACTERS), {"seed": 7, "learning_rate": 0.01})
    header, weights = checkpoint.load(tmp_path / "a")
    assert header.model == "attention"
    assert header.training == {"seed": 7, "learning_rate": 0.01}
    assert header.shape == {"vocab_size": 4, "block_size": 3, "n_embd": 5, "head_size": 2}
    assert header.characters == sorted(CHARACTERS)
    saved = model.state_dict()
    assert weights.keys() == saved.keys()
    assert all(torch.equal(weights[name], saved[name]) for name in saved)


def test_the_same_model_is_the_same_bytes_each_time(tmp_path: Path, path: Path, bigram: BigramLanguageModel) -> None:
    for _ in range(10):
        checkpoint.save(tmp_path / "another name", bigram, Vocabulary.of(CHARACTERS))
        assert (tmp_path / "another name").read_bytes() == path.read_bytes()


def test_no_truncated_checkpoint_is_loaded(path: Path) -> None:
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert "damaged" in error(path)


def test_no_changed_byte_changes_what_is_loaded(path: Path) -> None:
    whole, saved = path.read_bytes(), content(path)
    messages = []
    for place in range(len(whole)):
        for bits in (0x01, 0x20, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bits]) + whole[place + 1 :])
            try:
                found = content(path)
            except CharlmError as refusal:
                messages.append(str(refusal))
            else:
                assert found == saved, (place, bits)  # another way to write the same JSON
    assert len(messages) > 3 * len(whole) - 20
    assert all(message.startswith(str(path)) and "\n" not in message for message in messages)


def test_a_longer_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    assert "damaged" in error(path)


def rewrite(path: Path, change: Any) -> None:
    """Let `change` alter what the file says of itself, and write the file anew."""
    whole = path.read_bytes()
    (size,) = struct.unpack("<Q", whole[:8])
    layout = json.loads(whole[8 : 8 + size])
    said = json.loads(layout["__metadata__"]["charlm"])
    change(said)
    layout["__metadata__"]["charlm"] = json.dumps(said)
    text = json.dumps(layout).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])


def test_rewriting_without_a_change_is_no_damage(path: Path) -> None:
    saved = content(path)
    rewrite(path, lambda said: None)
    assert content(path) == saved


@pytest.mark.parametrize("number", [0, 1, "2", None])
def test_another_format_is_refused_with_both_numbers(path: Path, number: object) -> None:
    rewrite(path, lambda said: said["header"].update(format=number))
    assert f"has checkpoint format {number}, this program reads 2" in error(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.pop("header"),
        lambda said: said.pop("sha256"),
        lambda said: said.update(sha256="0" * 64),
        lambda said: said.update(header=[1]),
        lambda said: said["header"].pop("format"),
        lambda said: said["header"].pop("characters"),
        lambda said: said["header"].update(author="me"),
        lambda said: said["header"].update(model="attention"),
        lambda said: said["header"]["shape"].update(block_size=3),
        lambda said: said["header"]["characters"].reverse(),
    ],
)
def test_a_header_that_was_altered_is_refused(path: Path, change: Any) -> None:
    rewrite(path, change)
    assert "damaged" in error(path)


@pytest.mark.parametrize(("old", "new"), [(b'"F32"', b'"I32"'), (b"[4,4]", b"[2,8]"), (b"token_", b"taken_")])
def test_the_same_bits_of_another_type_shape_or_name_are_refused(path: Path, old: bytes, new: bytes) -> None:
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, new))
    assert "damaged" in error(path)


@pytest.mark.parametrize(
    "weights", [{"other": torch.zeros(4, 4)}, {"token_embedding_table.weight": torch.zeros(4, 4)}, {}]
)
@pytest.mark.parametrize("metadata", [None, {}, {"charlm": "no JSON"}, {"format": "pt"}])
def test_safetensors_of_others_are_refused(
    path: Path, weights: dict[str, Tensor], metadata: dict[str, str] | None
) -> None:
    path.write_bytes(safetensors_bytes(weights, metadata))
    assert "damaged" in error(path)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_are_refused(path: Path, bigram: BigramLanguageModel, number: float) -> None:
    with torch.no_grad():
        bigram.token_embedding_table.weight[3, 2] = number
    checkpoint.save(path, bigram, Vocabulary.of(CHARACTERS))
    assert "not finite" in error(path)


def test_a_pickle_is_refused_and_not_run(path: Path) -> None:
    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (path.parent / "ran",)

    torch.save({"token_embedding_table.weight": Malice()}, path)
    assert "damaged" in error(path)
    assert not (path.parent / "ran").exists()


def test_a_missing_checkpoint_is_an_error_that_says_how_to_get_it(tmp_path: Path) -> None:
    assert "is missing; run `dvc repro`" in error(tmp_path / "none")
