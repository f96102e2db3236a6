"""dvc.yaml names exactly what each stage depends on, or a change would be missed or a stage run for nothing."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from charlm import sources
from tests.pipeline.closure import code_of, parameters_of
from tests.pipeline.repository import ROOT, STAGES


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def stages() -> dict[str, dict[str, Any]]:
    """The stages as dvc.yaml describes them."""
    described: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return described


def test_the_stages_are_the_six(stages: dict[str, dict[str, Any]]) -> None:
    assert tuple(stages) == STAGES
    for name, stage in stages.items():
        assert stage["cmd"] == f"exec python -m stages.{name}"
        assert stage["desc"].endswith(".")


@pytest.mark.parametrize("name", STAGES)
def test_code_dependencies_are_the_import_closure(stages: dict[str, dict[str, Any]], name: str) -> None:
    listed = [path for path in stages[name]["deps"] if _is_code(path)]
    needed = code_of(name)
    assert set(listed) - needed == set(), "superfluous: the stage would run again for nothing"
    assert needed - set(listed) == set(), "missing: the stage would not run again"
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", STAGES)
def test_parameters_are_what_the_stage_loads(stages: dict[str, dict[str, Any]], name: str) -> None:
    assert set(stages[name].get("params", [])) == parameters_of(name)


@pytest.mark.parametrize("name", STAGES)
def test_data_dependencies_are_outputs_of_an_earlier_stage(stages: dict[str, dict[str, Any]], name: str) -> None:
    earlier = STAGES[: STAGES.index(name)]
    made = {_path(out) for stage in earlier for out in _outputs(stages[stage])}
    data = {path for path in stages[name]["deps"] if not _is_code(path)} - {sources.TEXTS}  # which the user makes
    assert {path for path in data if not _lies_in(path, made)} == set()


def test_reports_live_in_git_and_the_rest_in_the_cache(stages: dict[str, dict[str, Any]]) -> None:
    for stage in stages.values():
        for out in _outputs(stage):
            options = {} if isinstance(out, str) else next(iter(out.values()))
            in_git = options.get("cache") is False
            assert in_git == _path(out).startswith("reports/"), _path(out)


@pytest.mark.parametrize(
    "source", ["import charlm.tokens", "def f():\n    from charlm import tokens", "X = 'charlm.tokens:f'"]
)
def test_the_closure_sees_each_way_to_import(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/charlm").mkdir(parents=True)
    (tmp_path / "stages").mkdir()
    for file in ("src/charlm/__init__.py", "src/charlm/tokens.py", "src/charlm/unused.py", "stages/__init__.py"):
        (tmp_path / file).write_text("", encoding="utf-8")
    (tmp_path / "stages/one.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert code_of("one") == {
        "src/charlm/__init__.py",
        "src/charlm/tokens.py",
        "stages/__init__.py",
        "stages/one.py",
    }


def _is_code(path: str) -> bool:
    return path.startswith(("src/", "stages/"))


def _outputs(stage: dict[str, Any]) -> list[str | dict[str, Any]]:
    return [*stage.get("outs", []), *stage.get("metrics", []), *stage.get("plots", [])]


def _path(out: str | dict[str, Any]) -> str:
    return out if isinstance(out, str) else next(iter(out))


def _lies_in(path: str, outputs: set[str]) -> bool:
    return any(path == out or Path(path).is_relative_to(out) for out in outputs)


def test_what_a_worker_is_told_to_do_is_a_dependency() -> None:
    assert "src/charlm/one_evaluation.py" in code_of("evaluate")
    assert "src/charlm/models/kneser_ney.py" in code_of("evaluate")
    assert "src/charlm/one_run.py" in code_of("train_bigram")
