"""No file that is read can run code, and no command goes through a shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = sorted(path for folder in ("src", "stages", "tools") for path in (ROOT / folder).rglob("*.py"))

MODULES = {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec", "os.system", "os.popen", "torch.load", "torch.save", "yaml.unsafe_load", "yaml.full_load"}


def dangers(source: str) -> Iterator[str]:
    """Yield what could run foreign code in a module, in its own words."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
                yield module
            case ast.Call(func=function, keywords=keywords):
                if ast.unparse(function) in CALLS:
                    yield ast.unparse(function)
                for keyword in keywords:
                    if keyword.arg in ("shell", "allow_pickle") and ast.unparse(keyword.value) != "False":
                        yield f"{keyword.arg}={ast.unparse(keyword.value)}"


@pytest.mark.parametrize("path", PROGRAM, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_runs_no_foreign_code(path: Path) -> None:
    assert list(dangers(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("source", "danger"),
    [
        ("import pickle", "pickle"),
        ("from dill import loads", "dill"),
        ("x = eval('1')", "eval"),
        ("import torch\ntorch.load('x')", "torch.load"),
        ("import subprocess\nsubprocess.run('ls', shell=True)", "shell=True"),
        ("import numpy\nnumpy.load('x', allow_pickle=True)", "allow_pickle=True"),
    ],
)
def test_each_danger_would_be_seen(source: str, danger: str) -> None:
    assert list(dangers(source)) == [danger]


def test_every_package_is_pinned_to_one_version() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all(pin.count("==") == 1 and not set(pin) & set("<>~*;@") for pin in pins)
