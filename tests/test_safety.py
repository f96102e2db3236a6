"""No file that is read can run code, and no command goes through a shell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = sorted(path for folder in ("src", "stages", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py"))

MODULES = {"pickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# By full name, wherever it is mentioned: who has a function under another name can call it.
NAMES = re.compile(
    r"(builtins\.)?(eval|exec)"
    r"|os\.(system|popen)|subprocess\.(getoutput|getstatusoutput)|asyncio\.(\w+\.)*create_subprocess_shell"
    r"|torch\.(serialization\.)?(load|save)|.*\.(read|to)_pickle"
    r"|yaml\.(\w+\.)*(C?(Full|Unsafe)?Loader|(full|unsafe)_load(_all)?)"
)
KEYWORDS = {"shell", "allow_pickle"}


def dangers(source: str) -> Iterator[str]:
    """Yield what could run foreign code in a module, by its full name."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = dict(bindings(nodes))
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
                yield module
            case ast.Name() | ast.Attribute():
                if NAMES.fullmatch(name := full_name(node, imported)):
                    yield name
            case ast.keyword(arg=argument, value=value) if argument in KEYWORDS and ast.unparse(value) != "False":
                yield f"{argument}={ast.unparse(value)}"


def bindings(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, and what it stands for."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    top = name.name.partition(".")[0]
                    yield (name.asname, name.name) if name.asname else (top, top)
            case ast.ImportFrom(module=str(module), names=names):
                for name in names:
                    yield name.asname or name.name, f"{module}.{name.name}"


def full_name(node: ast.expr, imported: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return imported.get(name, name)
        case ast.Attribute(value=value, attr=attribute):
            return f"{full_name(value, imported)}.{attribute}"
    return ast.unparse(node)


@pytest.mark.parametrize("path", PROGRAM, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_runs_no_foreign_code(path: Path) -> None:
    assert list(dangers(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("source", "danger"),
    [
        ("import pickle", "pickle"),
        ("from dill import loads", "dill"),
        ("import xml, marshal as m", "marshal"),
        ("x = eval('1')", "eval"),
        ("y = list(map(exec, x))", "exec"),
        ("import builtins\nbuiltins.eval('1')", "builtins.eval"),
        ("from os import system\nsystem('ls')", "os.system"),
        ("import os as o\no.popen('ls')", "os.popen"),
        ("import subprocess\nsubprocess.getoutput('ls')", "subprocess.getoutput"),
        ("import asyncio\nasyncio.create_subprocess_shell('ls')", "asyncio.create_subprocess_shell"),
        ("import torch\ntorch.load('x')", "torch.load"),
        ("import torch as t\nt.load('x')", "torch.load"),
        ("from torch import load as read\nread('x')", "torch.load"),
        ("import torch.serialization as t\nt.load('x')", "torch.serialization.load"),
        ("import pandas as pd\npd.read_pickle('x')", "pandas.read_pickle"),
        ("frame().to_pickle('x')", "frame().to_pickle"),
        ("import yaml\nyaml.unsafe_load('x')", "yaml.unsafe_load"),
        ("import yaml\nyaml.load('x', Loader=yaml.UnsafeLoader)", "yaml.UnsafeLoader"),
        ("from yaml.loader import FullLoader\nclass Mine(FullLoader): ...", "yaml.loader.FullLoader"),
        ("import subprocess\nsubprocess.run('ls', shell=True)", "shell=True"),
        ("import numpy\nnumpy.load('x', allow_pickle=True)", "allow_pickle=True"),
    ],
)
def test_each_danger_would_be_seen(source: str, danger: str) -> None:
    assert list(dangers(source)) == [danger]


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.compile('eval')  # exec",
        "model.eval()",
        "from charlm.vocabulary import load, save\nload('x')\nsave('x')",
        "import yaml\nyaml.load('x', Loader=yaml.SafeLoader)",
        "import subprocess\nsubprocess.run(['ls'], shell=False)",
        "import safetensors.torch\nsafetensors.torch.load(b'')",
    ],
)
def test_what_is_harmless_is_left_alone(source: str) -> None:
    assert list(dangers(source)) == []


def test_every_package_is_pinned_to_one_version() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all(pin.count("==") == 1 and not set(pin) & set("<>~*;@") for pin in pins)
