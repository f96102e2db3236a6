"""The real parameters, as DVC reads them, and what is said of wrong ones."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import stages
from charlm.errors import CharlmError
from charlm.params import Section, load

PARAMS = Path(__file__).resolve().parent.parent / "params.yaml"


def kinds() -> Iterator[type[Section]]:
    """Every section of the program, the stages' own included."""
    for stage in pkgutil.iter_modules(stages.__path__, "stages."):
        importlib.import_module(stage.name)
    waiting = Section.__subclasses__()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.partition(".")[0] in ("charlm", "stages"):
            yield kind


KINDS = sorted(kinds(), key=lambda kind: kind.__name__)
FIELDS = {f"{kind.section}.{name}": (kind, name) for kind in KINDS for name in kind.model_fields}


def dvc_reads(text: str) -> Any:
    """Return what DVC's own reader makes of `text`."""
    return YAML(typ="safe", pure=True).load(text)


def set_value(path: Path, key: str, value: Any) -> None:
    """Write the real parameters with one of them changed."""
    content = dvc_reads(PARAMS.read_text("utf-8"))
    section, _, name = key.partition(".")
    content[section][name] = value
    # JSON is YAML, but for these two names.
    path.write_text(json.dumps(content).replace("NaN", ".nan").replace("Infinity", ".inf"), "utf-8")


def error(kind: type[Section], path: Path) -> str:
    """Return the error in loading, which is one line that begins with the file's name."""
    with pytest.raises(CharlmError) as caught:
        load(kind, path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path)).removeprefix(": ")
