"""A state is either exactly what was saved or refused."""

import hashlib
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from charlm import resume
from charlm.adamw import AdamW
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.training import CurvePoint

SOURCE = Path(resume.__file__).parent.parent
V, T = 5, 6
CURVE = [CurvePoint(0, 1.7, 1.8), CurvePoint(2, 1.1 + 1e-16, 0.1 + 0.2)]


def trained(kind: type[LanguageModel] = AttentionLanguageModel, seed: int = 1) -> tuple[LanguageModel, AdamW]:
    """Return a model and its optimizer after three steps."""
    torch.manual_seed(seed)
    shape = {"n_embd": 4, "head_size": 3} if kind is AttentionLanguageModel else {}
    model = kind(vocab_size=V, block_size=T, **shape)
    optimizer = AdamW(model.parameters())
    for _ in range(3):
        optimizer.step(model.loss(torch.randint(V, (4, T)), torch.randint(V, (4, T))), learning_rate=0.01)
    return model, optimizer


def everything(model: LanguageModel, optimizer: AdamW) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in (model.state_dict() | optimizer.state()).items()}


def same(some: dict[str, Tensor], others: dict[str, Tensor]) -> bool:
    return some.keys() == others.keys() and all(
        value.dtype == others[name].dtype and torch.equal(value, others[name]) for name, value in some.items()
    )


def load(state: Path, of: str = "this run") -> tuple[list[CurvePoint], bool, list[str]]:
    """Return the curve found, whether a fresh model was changed, and what was said."""
    model, optimizer = trained(seed=9)
    before = everything(model, optimizer)
    said: list[str] = []
    curve = resume.load(state, of, model, optimizer, said.append)
    return curve, not same(before, everything(model, optimizer)), said


# --- what is saved is what is loaded ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BigramLanguageModel, AttentionLanguageModel])
def test_a_state_comes_back_bit_for_bit(kind: type[LanguageModel], tmp_path: Path) -> None:
    model, optimizer = trained(kind)
    resume.save(tmp_path / "a" / "s.state", "this run", model, optimizer, CURVE)
    other, its_optimizer = trained(kind, seed=2)
    assert not same(everything(other, its_optimizer), everything(model, optimizer))

    curve = resume.load(tmp_path / "a" / "s.state", "this run", other, its_optimizer, pytest.fail)
    assert curve == CURVE
    assert same(everything(other, its_optimizer), everything(model, optimizer))
    assert other.training


def test_a_state_of_step_0_knows_an_optimizer_that_has_done_nothing(tmp_path: Path) -> None:
    fresh = BigramLanguageModel(vocab_size=V, block_size=T)
    its_optimizer = AdamW(fresh.parameters())
    resume.save(tmp_path / "s.state", "this run", fresh, its_optimizer, CURVE[:1])
    model, optimizer = trained(BigramLanguageModel)
    assert resume.load(tmp_path / "s.state", "this run", model, optimizer, pytest.fail) == CURVE[:1]
    assert same(everything(model, optimizer), everything(fresh, its_optimizer))
    assert not any(tensor.any() for tensor in optimizer.state().values())


def test_nothing_kept_is_nothing_to_carry_on_from(tmp_path: Path) -> None:
    assert load(tmp_path / "none.state") == ([], False, [])


# --- two generations, and states that are refused ---------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A state of step 2, and an older one of step 0."""
    state = tmp_path / "s.state"
    model, optimizer = trained()
    resume.save(state, "this run", model, optimizer, CURVE[:1])
    resume.save(state, "this run", model, optimizer, CURVE)
    return state


def test_the_newest_of_two_generations_is_used(two: Path) -> None:
    assert load(two) == (CURVE, True, [])


def test_a_death_between_the_two_renames_leaves_the_older_one(two: Path) -> None:
    two.unlink()
    assert load(two) == (CURVE[:1], True, [])


def test_a_leftover_of_a_save_that_died_is_in_nobodys_way(two: Path) -> None:
    two.with_suffix(".tmp").write_bytes(b"half a st")
    assert load(two) == (CURVE, True, [])
    model, optimizer = trained()
    resume.save(two, "this run", model, optimizer, CURVE[1:])
    assert load(two) == (CURVE[1:], True, [])


def test_the_older_one_is_used_when_the_newest_is_torn_and_a_line_says_so(two: Path) -> None:
    two.write_bytes(two.read_bytes()[:-1])
    assert load(two) == (CURVE[:1], True, [f"{two} is torn or altered: not used"])


def test_when_both_are_refused_one_line_says_so(two: Path) -> None:
    assert load(two, of="another run") == (
        [],
        False,
        [f"{two} is of a run with other parameters, data or code: not used"],
    )


def test_the_older_one_is_used_when_only_the_newest_is_of_another_run(two: Path) -> None:
    """Parameters that were changed, tried for a moment and changed back."""
    model, optimizer = trained()
    resume.save(two, "another run", model, optimizer, CURVE[:1])
    curve, changed, said = load(two)
    assert (curve, changed) == (CURVE, True)
    assert said == [f"{two} is of a run with other parameters, data or code: not used"]


def test_a_state_truncated_anywhere_or_too_long_is_refused(two: Path) -> None:
    content = two.read_bytes()
    two.with_suffix(".older").unlink()
    body = 32 + 8 + int.from_bytes(content[32:40], "little")  # the hash, the header's length, the header
    for length in {*range(64), *range(body - 4, body + 4), *range(64, len(content), 97), len(content) - 1}:
        two.write_bytes(content[:length])
        assert load(two) == ([], False, [f"{two} is torn or altered: not used"]), length
    two.write_bytes(content + b"\0")
    assert load(two)[0] == []


def test_a_state_with_a_flipped_bit_is_refused(two: Path) -> None:
    content = two.read_bytes()
    two.with_suffix(".older").unlink()
    for place in {*range(64), *range(64, len(content), 61), len(content) - 1}:
        altered = bytearray(content)
        altered[place] ^= 1 << place % 8
        two.write_bytes(altered)
        assert load(two) == ([], False, [f"{two} is torn or altered: not used"]), place


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"fingerprint": "this run"}', None])
def test_a_whole_file_that_holds_something_else_is_refused(record: str | None, tmp_path: Path) -> None:
    """As a later version of this program may leave behind."""
    body = safetensors.torch.save({"a": torch.zeros(2)}, None if record is None else {"run": record})
    (tmp_path / "s.state").write_bytes(hashlib.sha256(body).digest() + body)
    assert load(tmp_path / "s.state") == ([], False, [f"{tmp_path / 's.state'} is torn or altered: not used"])


def test_a_folder_where_the_state_should_be_is_refused_and_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "s.state").mkdir()
    (tmp_path / "s.older").mkdir()
    (tmp_path / "s.older" / "file").touch()
    assert load(tmp_path / "s.state")[2] == [f"{tmp_path / 's.state'} is torn or altered: not used"]
    with pytest.raises(CharlmError, match=r"s\.state cannot be written \((Is a directory|Operation not .*)\); .*`dvc"):
        resume.save(tmp_path / "s.state", "this run", *trained(), CURVE)
