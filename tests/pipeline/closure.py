"""What a stage's result can depend on, read from the sources: DVC itself follows no import."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from charlm.params import Section

_PLACES = {"charlm": Path("src"), "stages": Path()}  # package -> the folder it lies in
_REGISTRY = "charlm.models.registry"  # it imports the models by names that only a checkpoint knows
_TARGET = re.compile(r"((?:charlm|stages)(?:\.\w+)*)(?::\w+)?")  # "charlm.worker", "charlm.one_run:train_one"


def code_of(stage: str) -> set[str]:
    """Return the files that `python -m stages.<stage>` can execute or read as a part of the program."""
    files, reached = set(), set()
    waiting = [f"stages.{stage}"]
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        file = file_of(module)
        assert file is not None, f"there is no module {module}"
        files |= {file.as_posix(), *_resources(file)}
        waiting += _imports(module)
    return files


def parameters_of(stage: str) -> set[str]:
    """Return what the stage reads of params.yaml, as dvc.yaml names it."""
    names = set()
    for file in code_of(stage):
        if file.endswith(".py"):
            for kind in _loaded(Path(file)):
                partly = kind.model_config.get("extra") == "ignore"
                names |= {f"{kind.section}.{key}" for key in kind.model_fields} if partly else {kind.section}
    return {name for name in names if name.partition(".")[0] not in names - {name}}


def file_of(module: str) -> Path | None:
    """Return the file of one of our modules, seen from the root, or None when there is no such module."""
    place = _PLACES.get(module.partition(".")[0])
    if place is None:
        return None
    path = place.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _imports(module: str) -> set[str]:
    """Return our modules that this one imports, wherever in it, with the packages that they lie in."""
    file = file_of(module)
    assert file is not None
    names = {module, *_imported_names(_tree(file), module, is_package=file.name == "__init__.py")}
    if module == _REGISTRY:
        names |= {f"charlm.models.{model.stem}" for model in file.parent.glob("[!_]*.py")}
    names |= {parent for name in names for parent in _parents(name)}
    return {name for name in names if file_of(name)} - {module}


def _imported_names(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[str]:
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=name, names=names, level=level):
                base = ".".join([*package[: len(package) + 1 - level], *([name] if name else [])]) if level else name
                yield str(base)
                yield from (f"{base}.{alias.name}" for alias in names)
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if _TARGET.match(text):
                raise AssertionError(f"{module}: the target {text}... is put together; write it out to be followed")
            case ast.Constant(value=str(text)) if target := _TARGET.fullmatch(text):
                yield target[1]


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _resources(file: Path) -> set[str]:
    """Return the files of the package that are no Python and whose names stand in this module."""
    strings = {node.value for node in ast.walk(_tree(file)) if isinstance(node, ast.Constant)}
    others = (other for other in Path("src/charlm").rglob("*.*") if other.suffix not in {".py", ".pyc"})
    return {other.as_posix() for other in others if other.name in strings}


def _loaded(file: Path) -> Iterator[type[Section]]:
    """Yield each class that the file passes to `charlm.params.load`."""
    parts = file.relative_to("src").parts if file.parts[0] == "src" else file.parts
    module = ".".join(parts).removesuffix(".py")
    for node in ast.walk(_tree(file)):
        match node:
            case ast.Call(func=ast.Name(id="load"), args=[ast.Name(id=name), *_]):
                found = getattr(importlib.import_module(module), name, None)
                if isinstance(found, type) and issubclass(found, Section):
                    yield found
