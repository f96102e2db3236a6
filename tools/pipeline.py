"""What dvc.yaml declares and what dvc.lock says came out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from charlm.errors import CharlmError

DECLARED = Path("dvc.yaml")
LOCKED = Path("dvc.lock")


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml.

    Attributes:
        deps: the paths it depends on.
        params: the keys of params.yaml it depends on.
        outs: each path it makes, and whether that is kept in DVC's cache (else in Git).
        metrics: which of these are metrics.
    """

    deps: frozenset[str]
    params: frozenset[str]
    outs: dict[str, bool]
    metrics: frozenset[str]


@dataclass(frozen=True)
class Entry:
    """A stage of dvc.lock: the hash of each path, and the keys of params.yaml."""

    deps: dict[str, str]
    params: frozenset[str]
    outs: dict[str, str]


def declared(root: Path) -> dict[str, Stage]:
    """Return the stages of dvc.yaml by name."""
    return {name: _stage(content) for name, content in _read(root / DECLARED)["stages"].items()}


def locked(root: Path) -> dict[str, Entry]:
    """Return the stages of dvc.lock by name, none when there is no such file."""
    if not (root / LOCKED).exists():
        return {}
    return {
        name: Entry(
            deps=_hashes(content.get("deps", [])),
            params=frozenset(key for keys in content.get("params", {}).values() for key in keys),
            outs=_hashes(content.get("outs", [])),
        )
        for name, content in _read(root / LOCKED)["stages"].items()
    }


def _stage(content: dict[str, Any]) -> Stage:
    outs: dict[str, bool] = {}
    for kind in ("outs", "metrics", "plots"):
        outs |= {path: options.get("cache", True) for path, options in _with_options(content.get(kind, []))}
    return Stage(
        deps=frozenset(content.get("deps", [])),
        params=frozenset(content.get("params", [])),
        outs=outs,
        metrics=frozenset(path for path, _ in _with_options(content.get("metrics", []))),
    )


def _with_options(items: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(item, {}) if isinstance(item, str) else next(iter(item.items())) for item in items]


def _hashes(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["path"]: item[item["hash"]] for item in items}


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise CharlmError(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None
