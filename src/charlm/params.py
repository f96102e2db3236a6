"""`params.yaml` -> typed, frozen, validated sections.

A stage loads the sections it reads and sees no others:

    train = load(Train)

Each section is described where it is used, not here, so that a new parameter of one stage changes no
dependency of another.
"""

import difflib
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from charlm import paths
from charlm.errors import CharlmError


class Section(BaseModel):
    """One top-level section of `params.yaml`; a subclass names it and gives each key a type and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    section: ClassVar[str]


S = TypeVar("S", bound=Section)

_loaded: dict[tuple[type[Section], Path], Section] = {}


def load(kind: type[S], path: Path = paths.PARAMS) -> S:
    """Read the section that `kind` describes.

    Raises:
        CharlmError: naming the key, its value and what the key wants.
    """
    sections = _read_yaml(path)
    if kind.section not in sections:
        raise CharlmError(f"{path} has no section '{kind.section}'{_nearest(kind.section, sections)}")
    try:
        # Strict types, and a YAML list may still fill a tuple: those are pydantic's rules for JSON.
        found = kind.model_validate_json(json.dumps(sections[kind.section]))
    except ValidationError as error:
        raise CharlmError(f"{path}: {_explain(kind, error.errors())}") from None
    except TypeError as error:  # from a tag such as !!binary
        raise CharlmError(
            f"{path}: section '{kind.section}' holds more than text, numbers and lists: {error}"
        ) from None
    _loaded[kind, path.resolve()] = found
    return found


def changed() -> Iterator[str]:
    """Yield the names of the sections that this process has loaded and that are not what they were."""
    for (kind, path), before in list(_loaded.items()):
        try:
            same = load(kind, path) == before
        except CharlmError:
            same = False
        _loaded[kind, path] = before
        if not same:
            yield f"section '{kind.section}' of {path.name}"


def _explain(kind: type[Section], errors: list[ErrorDetails]) -> str:
    """Say the first error in a line, and how many others there are."""
    first = min(errors, key=lambda error: error["type"] != "extra_forbidden")  # a misspelt key, before the one it lacks
    loc = _without_tags(first["loc"])
    key = ".".join([kind.section, *map(str, loc)])
    field = kind.model_fields.get(str(loc[0])) if loc else None
    wanted = f"; it wants {field.description}" if field and field.description else ""
    match first["type"]:
        case "json_invalid":
            text = f"section '{kind.section}' holds half of a character (a surrogate), which is no text"
        case "missing":
            text = f"{key} is missing{wanted}"
        case "extra_forbidden":
            nearest = _nearest(str(loc[0]), kind.model_fields) if len(loc) == 1 else wanted
            text = f"{key} is not a known key{nearest}"
        case "value_error" if len(loc) > 1 and (reason := str(first["ctx"]["error"])):
            text = f"{key} is {first['input']!r}; {reason}"  # nearer than what the whole field wants
        case _:
            text = f"{key} is {first['input']!r}{wanted or '; ' + first['msg']}"
    # A list whose only item is wrong is too short besides, says pydantic.
    more = sum(error["type"] != "too_short" for error in errors if error is not first)
    return f"{text} (and {more} more)" if more else text


def _without_tags(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Drop the names that pydantic puts after the number of an item, for which of several kinds it took it."""
    return loc[:1] + tuple(
        part for before, part in pairwise(loc) if not (isinstance(before, int) and isinstance(part, str))
    )


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, [str(key) for key in known], n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(map(str, known))}"


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Yaml12Loader)  # noqa: S506 (a SafeLoader)
    except FileNotFoundError:
        raise CharlmError(f"{path} is not here; run from the repository's root") from None
    except UnicodeDecodeError as error:
        raise CharlmError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise CharlmError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:  # a tag such as !!float, before what is none
        raise CharlmError(f"{path} has a tag (!!...) that does not fit its value: {error}; leave it out") from None
    except RecursionError:
        raise CharlmError(f"{path} is nested too deeply; a section holds keys and lists, no more") from None
    if not isinstance(content, dict):
        raise CharlmError(f"{path} holds {type(content).__name__}, not sections such as 'train:'")
    return content


class _Yaml12Loader(yaml.SafeLoader):
    """PyYAML with the scalars of YAML 1.2, which is what DVC reads and hashes.

    PyYAML alone follows YAML 1.1, in which `1e-3` is a string, `010` is eight and `yes` is true.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML keeps it on the class)

    def construct_int(self, node: yaml.ScalarNode) -> int:
        text = node.value
        try:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        except ValueError:  # more digits than the 4300 that Python reads, or an underscore where it wants none
            why = f"{text[:20]}{'...' * (len(text) > 20)} is no number that can be read"
            raise yaml.constructor.ConstructorError(None, None, why, node.start_mark) from None

    def construct_unique_mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if keys.count(key.value) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key '{key.value}'", key.start_mark)
        return self.construct_mapping(node, deep=True)


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
     list("-+.0123456789")),
):  # fmt: skip
    _Yaml12Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)
_Yaml12Loader.add_constructor("tag:yaml.org,2002:int", _Yaml12Loader.construct_int)
_Yaml12Loader.add_constructor("tag:yaml.org,2002:map", _Yaml12Loader.construct_unique_mapping)
