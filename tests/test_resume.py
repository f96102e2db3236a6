"""A state is either exactly what was saved or refused; carrying on from it changes no bit of a result.

The runs are real ones of `charlm.one_run`, with models so small that a run takes milliseconds.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from charlm import one_run, paths, resume, training
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.numerics import environment
from charlm.tokens import Tokens
from charlm.training import CurvePoint, adamw
from charlm.vocabulary import Vocabulary

SOURCE = Path(resume.__file__).parent.parent
V, T = 5, 6
BUDGET = {"batch_size": 4, "block_size": T, "steps": 6, "eval_interval": 2}
MODELS: dict[str, dict[str, int]] = {
    "charlm.models.bigram:BigramLanguageModel": {},
    "charlm.models.attention:AttentionLanguageModel": {"n_embd": 4, "head_size": 3},
}
CURVE = [CurvePoint(0, 1.7, 1.8), CurvePoint(2, 1.1 + 1e-16, 0.1 + 0.2)]

Optimizer = torch.optim.Optimizer


@pytest.fixture(autouse=True)
def _in_a_folder_with_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(one_run, "settle", lambda **compute: torch.device("cpu"))  # changes no global of this process
    Vocabulary.of("abcde").save(paths.VOCABULARY)
    text: Tokens = np.random.default_rng(1).integers(0, V, 400).astype(np.uint8)
    np.save(paths.TRAIN_TOKENS, text[:300])
    np.save(paths.VAL_TOKENS, text[300:])


def trained(kind: type[LanguageModel] = AttentionLanguageModel, seed: int = 1) -> tuple[LanguageModel, Optimizer]:
    """Return a model and its optimizer after three steps."""
    torch.manual_seed(seed)
    shape = {"n_embd": 4, "head_size": 3} if kind is AttentionLanguageModel else {}
    model = kind(vocab_size=V, block_size=T, **shape)
    optimizer = adamw(model, 0.01)
    for _ in range(3):
        _, loss = model(torch.randint(V, (4, T)), torch.randint(V, (4, T)))
        assert loss is not None
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model, optimizer


def everything(model: LanguageModel, optimizer: Optimizer) -> dict[str, Tensor]:
    moments = optimizer.state_dict()["state"]
    return {name: weight.clone() for name, weight in model.state_dict().items()} | {
        f"{number}.{name}": value.clone() for number, state in moments.items() for name, value in state.items()
    }


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


def run(
    name: str,
    *,
    model: str = "charlm.models.attention:AttentionLanguageModel",
    seed: int = 1,
    die_at: int | None = None,
    **changed: Any,
) -> tuple[list[int], list[str]]:
    """Train into the checkpoint `name`; return the steps measured, and what was said.

    Args:
        name: what checkpoint and state are called.
        model: its class.
        seed: the run's.
        die_at: stop once the point of this step is told, that is, its state is kept.
        changed: other values for the budget or the learning rate.
    """
    steps: list[int] = []
    said: list[str] = []

    def tell(event: dict[str, Any]) -> None:
        if "note" in event:
            said.append(event["note"])
        if "point" in event:
            steps.append(event["point"]["step"])
            if steps[-1] == die_at:
                raise KeyboardInterrupt

    try:
        one_run.train_one(
            model=model,
            shape=MODELS[model],
            learning_rate=changed.pop("learning_rate", 0.01),
            seed=seed,
            budget=BUDGET | changed,
            compute={"device": "cpu", "numerics": "native"},
            checkpoint=name,
            state=f"{name}.state",
            tell=tell,
        )
    except KeyboardInterrupt:
        assert die_at is not None
    return steps, said


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
    resume.save(tmp_path / "s.state", "this run", fresh, adamw(fresh, 0.01), CURVE[:1])
    model, optimizer = trained(BigramLanguageModel)
    assert resume.load(tmp_path / "s.state", "this run", model, optimizer, pytest.fail) == CURVE[:1]
    assert same(everything(model, optimizer), dict(fresh.state_dict()))


def test_nothing_kept_is_nothing_to_carry_on_from(tmp_path: Path) -> None:
    assert load(tmp_path / "none.state") == ([], False, [])


# --- a run that carries on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("died", [[0], [2], [4], [6], [0, 2, 4, 6]])
def test_a_run_that_died_ends_with_the_same_bytes(model: str, died: list[int]) -> None:
    assert run("whole", model=model)[0] == [0, 2, 4, 6]
    for step in died:
        run("other", model=model, die_at=step)
    steps, said = run("other", model=model)
    assert steps == [step for step in (0, 2, 4, 6) if step > died[-1]], "the interval that was lost, and no other"
    assert said == [f"seed 1 carries on from step {died[-1]}"]
    assert Path("other").read_bytes() == Path("whole").read_bytes()


def test_the_curve_is_that_of_a_run_never_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[list[dict[str, Any]]] = []
    save = resume.save

    def watch(path: Path, of: str, model: LanguageModel, optimizer: Optimizer, curve: list[CurvePoint]) -> None:
        saved.append([asdict(point) for point in curve])
        save(path, of, model, optimizer, curve)

    monkeypatch.setattr(resume, "save", watch)
    run("whole")
    whole = saved[-1]
    run("other", die_at=4)
    run("other")
    assert saved[-1] == whole


def test_a_complete_state_only_writes_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    run("whole")
    run("other", die_at=6)
    assert not Path("other").exists()
    monkeypatch.setattr(training, "batch", pytest.fail)
    monkeypatch.setattr(training, "measure", pytest.fail)
    monkeypatch.setattr(resume, "save", pytest.fail)
    assert run("other") == ([], ["seed 1 carries on from step 6"])
    assert Path("other").read_bytes() == Path("whole").read_bytes()


def forget_optimizer(
    model: LanguageModel, optimizer: Optimizer, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    optimizer.state.clear()
    return found


def forget_weights(
    model: LanguageModel, optimizer: Optimizer, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    model.load_state_dict(fresh)
    return found


def forget_the_last_point(
    model: LanguageModel, optimizer: Optimizer, found: list[CurvePoint], fresh: dict[str, Tensor]
) -> list[CurvePoint]:
    return found[:-1]


@pytest.mark.parametrize("forget", [forget_optimizer, forget_weights, forget_the_last_point])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_carries_on_without_one_part_of_its_state_ends_with_other_bytes(
    model: str, forget: Callable[..., list[CurvePoint]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests above would show nothing."""
    run("whole", model=model)
    run("other", model=model, die_at=2)
    whole = resume.load

    def load_without(
        path: Path, of: str, network: LanguageModel, optimizer: Optimizer, say: Callable[[str], None]
    ) -> list[CurvePoint]:
        fresh = {name: weight.clone() for name, weight in network.state_dict().items()}
        return forget(network, optimizer, whole(path, of, network, optimizer, say), fresh)

    monkeypatch.setattr(resume, "load", load_without)
    assert run("other", model=model)[1] in (["seed 1 carries on from step 2"], ["seed 1 carries on from step 0"])
    assert Path("other").read_bytes() != Path("whole").read_bytes()


@pytest.mark.parametrize("changed", [{"steps": 7}, {"batch_size": 3}, {"learning_rate": 0.02}, {"eval_interval": 3}])
def test_a_run_with_other_parameters_starts_over(changed: dict[str, Any]) -> None:
    run("clean", **changed)
    run("other", die_at=4)
    steps, said = run("other", **changed)
    assert steps[0] == 0
    assert said == ["other.state is of a run with other parameters, data or code: not used"]
    assert Path("other").read_bytes() == Path("clean").read_bytes()


def test_a_run_on_other_data_starts_over_even_from_a_state_of_the_same_name() -> None:
    run("other", die_at=4)
    tokens = np.load(paths.TRAIN_TOKENS)
    tokens[7] = (tokens[7] + 1) % V
    np.save(paths.TRAIN_TOKENS, tokens)
    run("clean")
    steps, said = run("other")
    assert steps[0] == 0
    assert "other.state is of a run with other parameters, data or code" in said[0]
    assert Path("other").read_bytes() == Path("clean").read_bytes()


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
    with pytest.raises(CharlmError, match=r"s\.state cannot be written \(Directory not empty\); .*`dvc repro`"):
        resume.save(tmp_path / "s.state", "this run", *trained(), CURVE)


# --- what shapes a run ------------------------------------------------------------------------------------------


def test_the_fingerprint_depends_on_settings_and_data() -> None:
    some: Tokens = np.array([1, 2, 3], dtype=np.uint8)
    found = {
        resume.fingerprint({}, []),
        resume.fingerprint({"seed": 1}, []),
        resume.fingerprint({"seed": 2}, []),
        resume.fingerprint({}, [some]),
        resume.fingerprint({}, [some, some]),
        resume.fingerprint({}, [some[::-1].copy()]),
        resume.fingerprint({}, [some.astype(np.uint16)]),
    }
    assert len(found) == 7
    assert resume.fingerprint({"a": 1, "b": 2}, [some]) == resume.fingerprint({"b": 2, "a": 1}, [some.copy()])


@pytest.mark.parametrize(
    ("where", "what", "value"),
    [
        ("charlm.resume.torch.__version__", None, "2.99"),
        ("charlm.resume.np.__version__", None, "9.9"),
        ("charlm.resume.platform.python_version", None, lambda: "3.99"),
        ("charlm.resume.platform.machine", None, lambda: "riscv64"),
        ("charlm.resume.torch.backends.cpu.get_cpu_capability", None, lambda: "AVX1024"),
        *[(None, name, "other") for name in environment("portable")],
    ],
)
def test_the_fingerprint_depends_on_versions_processor_and_pins(
    where: str | None, what: str | None, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resume.fingerprint({}, [])
    if where:
        monkeypatch.setattr(where, value)
    else:
        assert what
        monkeypatch.setenv(what, value)
    assert resume.fingerprint({}, []) != before


def test_the_fingerprint_depends_on_the_code_as_it_was_when_the_process_started(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    edited = source / "charlm/models/attention.py"
    program = f"""
from pathlib import Path
from charlm import resume
print(resume.fingerprint({{}}, []))
with Path({str(edited)!r}).open("a") as module:
    module.write("# as a person does who mends it while it runs")
print(resume.fingerprint({{}}, []))
"""

    def fingerprints() -> list[str]:
        command = [sys.executable, "-B", "-c", program]
        return subprocess.check_output(command, env={**os.environ, "PYTHONPATH": str(source)}, text=True).split()

    before, meanwhile = fingerprints()
    after, _ = fingerprints()
    assert before == meanwhile
    assert before != after


# --- weights that are not finite --------------------------------------------------------------------------------


def test_weights_that_are_not_finite_are_neither_kept_nor_saved_though_the_loss_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row of the table that no scored text reads would show in no loss."""
    train = training.train

    def spoiled(network: LanguageModel, *rest: Any, **options: Any) -> Any:
        for point in train(network, *rest, **options):
            if point.step == 4:
                with torch.no_grad():
                    next(network.parameters())[0, 0] = float("nan")
            yield point

    monkeypatch.setattr(one_run, "train", spoiled)
    with pytest.raises(CharlmError, match=r"seed 1 has weights that are not finite at step 4.*0\.01 is probably too"):
        run("spoiled")
    assert not Path("spoiled").exists()
    content = Path("spoiled.state").read_bytes()
    header = json.loads(content[40 : 40 + int.from_bytes(content[32:40], "little")])
    assert [point["step"] for point in json.loads(header["__metadata__"]["run"])["curve"]] == [0, 2]
    assert all(torch.isfinite(tensor).all() for tensor in safetensors.torch.load(content[32:]).values())
