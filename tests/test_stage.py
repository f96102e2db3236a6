"""A stage whose code or parameters change while it runs fails: DVC would record the new ones with the old result."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from charlm import params as parameters
from charlm.params import load
from charlm.settings import Compute, Train

ROOT = Path(__file__).resolve().parent.parent
STAGE = """
import pathlib, sys
from charlm import files
from charlm.params import load
from charlm.settings import Compute
from charlm.stage import run

def main():
    load(Compute)
    exec(sys.argv[1])
    print("done")

run(main)
"""
RESULT = "changed while this ran, and DVC would record the new one with the old result; run `dvc repro` again"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the code and the parameters, and a stage in it."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/some.py").write_text(STAGE)
    return tmp_path


def run(house: Path, meanwhile: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "stages/some.py", meanwhile],
        cwd=house,
        env={"PYTHONPATH": str(house / "src"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("meanwhile", "changed"),
    [
        ("pathlib.Path('src/charlm/files.py').open('a').write('# edited')", "src/charlm/files.py"),
        ("pathlib.Path('src/charlm/files.py').unlink()", "src/charlm/files.py"),
        ("pathlib.Path('stages/some.py').open('a').write('# edited')", "stages/some.py"),
        ("p = pathlib.Path('params.yaml'); p.write_text(p.read_text().replace('portable', 'native'))",
         "section 'compute' of params.yaml"),
    ],
)  # fmt: skip
def test_it_fails_in_a_line_that_names_what_changed(house: Path, meanwhile: str, changed: str) -> None:
    done = run(house, meanwhile)
    assert (done.returncode, done.stderr) == (1, f"error: {changed} {RESULT}\n")


@pytest.mark.parametrize(
    "meanwhile",
    [
        "pass",
        "pathlib.Path('src/charlm/training.py').open('a').write('# edited, and not loaded here')",
        "pathlib.Path('src/charlm/files.py').touch()",
        "p = pathlib.Path('params.yaml'); p.write_text(p.read_text().replace('steps: 5000', 'steps: 6000'))",
    ],
)
def test_what_it_does_not_use_may_change(house: Path, meanwhile: str) -> None:
    done = run(house, meanwhile)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_section_that_changed_since_it_was_loaded_is_named(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "_loaded", {})
    params = house / "params.yaml"
    load(Train, params)
    load(Compute, params)
    original = params.read_text(encoding="utf-8")
    assert list(parameters.changed()) == []
    params.write_text(original + "# a comment\n", encoding="utf-8")
    assert list(parameters.changed()) == []
    for changed in (original.replace("eval_interval: 250", "eval_interval: 251"), "train: {}\n", "["):
        params.write_text(changed, encoding="utf-8")
        assert next(parameters.changed()) == f"section 'train' of {params.name}"
    params.write_text(original, encoding="utf-8")
    assert list(parameters.changed()) == []
