"""Committed outputs against those of a reproduction: identical, equal within tolerance, or different."""

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from charlm.errors import CharlmError
from tools.golden import leaves
from tools.pipeline import declared, locked

# Where a platform may compute other bits, metrics may differ by this share, or by this much where they are small.
# Measured over the whole pipeline: numerics native with AVX-512 and with plain SSE2 each left every metric as it
# is in portable, to its last, sixth, decimal; single points of the curves moved by 0.000001. Another torch may
# round more often in another way, so a hundred times that: at a loss of 2.4 it lets 0.00024 pass, a thirtieth of
# the attention head's standard deviation over seeds.
TOLERANCE = 1e-4

Verdict = Literal["identical", "equal within tolerance", "differs"]


@dataclass(frozen=True)
class Output:
    """One output of the pipeline.

    Attributes:
        hash: what dvc.lock says of it.
        content: its bytes, where it is kept in Git.
        is_metrics: whether it holds metrics.
    """

    hash: str
    content: bytes | None
    is_metrics: bool


@dataclass(frozen=True)
class Finding:
    """What the comparison of one output found, with the figures of a difference.

    `excused` says that a difference is what this platform must be expected to make.
    """

    path: str
    verdict: Verdict
    figures: str = ""
    excused: bool = False

    def __str__(self) -> str:
        return f"{self.verdict:<22}  {self.path}{self.figures and f': {self.figures}'}"


def outputs(root: Path) -> dict[str, Output]:
    """Return the outputs of all stages of a working copy, in the order of dvc.yaml.

    Raises:
        CharlmError: dvc.lock does not know one of them, or it is kept in Git and missing.
    """
    found: dict[str, Output] = {}
    lock = locked(root)
    for name, stage in declared(root).items():
        for path, is_cached in stage.outs.items():
            if name not in lock or path not in lock[name].outs:
                raise CharlmError(
                    f"dvc.lock knows nothing of {path} of the stage {name}; run `dvc repro` and commit it"
                )
            if is_cached:
                found[path] = Output(lock[name].outs[path], None, is_metrics=False)
            elif (root / path).is_file():
                found[path] = Output(lock[name].outs[path], (root / path).read_bytes(), path in stage.metrics)
            elif (root / path).is_dir():  # its files one by one, each by a hash of its own
                for file in sorted((root / path).iterdir()):
                    content = file.read_bytes()
                    found[str(file.relative_to(root))] = Output(sha256(content).hexdigest(), content, is_metrics=False)
            else:
                raise CharlmError(f"{path} of the stage {name} is not in Git; run `dvc repro` and commit it")
    return found


def compare(before: Mapping[str, Output], after: Mapping[str, Output], *, to_the_byte: bool) -> list[Finding]:
    """Compare each output of `before` with that of `after`.

    Args:
        before: what is committed.
        after: what came out, under the same paths.
        to_the_byte: demand identical bytes. Otherwise metrics may differ by TOLERANCE, and what is made of
            rounded numbers is excused; data is made of none, so it has to be identical in any case.
    """
    return [_compare(path, before.get(path), after.get(path), to_the_byte=to_the_byte) for path in {**before, **after}]


def _compare(path: str, old: Output | None, new: Output | None, *, to_the_byte: bool) -> Finding:
    if old is None or new is None:
        return Finding(path, "differs", "came out and is not committed" if old is None else "did not come out")
    if old == new:
        return Finding(path, "identical")
    if old.content == new.content or old.content is None or new.content is None:
        figures, is_close = f"dvc.lock has {old.hash[:12]}, and {new.hash[:12]} came out", False
    else:
        figures, is_close = _figures(path, old.content, new.content)
    if old.is_metrics and not to_the_byte:
        return Finding(path, "equal within tolerance" if is_close else "differs", figures)
    return Finding(path, "differs", figures, excused=not to_the_byte and not path.startswith("data/"))


def _figures(path: str, old: bytes, new: bytes) -> tuple[str, bool]:
    """Say how the contents differ, and whether they are the same but for numbers that are close."""
    if path.endswith(".png"):
        return f"{len(old):,} bytes committed, {len(new):,} came out", False
    before, after = _values(path, old), _values(path, new)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    numbers = {
        name: (before[name], after[name])
        for name in changed
        if isinstance(before.get(name), float) and isinstance(after.get(name), float)
    }
    if len(numbers) < len(changed):
        name = next(name for name in changed if name not in numbers)
        return f"{len(changed)} values differ, as {name}: {before.get(name)!r}, and {after.get(name)!r} came out", False
    largest = max(numbers, key=lambda name: abs(numbers[name][0] - numbers[name][1]))
    was, is_now = numbers[largest]
    is_close = all(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in numbers.values())
    return f"{len(changed)} numbers differ, most of all {largest}: {was}, and {is_now} came out", is_close


def _values(path: str, content: bytes) -> dict[str, Any]:
    """Return the file's values by name: of JSON and CSV each value, of a text each line."""
    text = content.decode("utf-8")
    if path.endswith(".json"):
        return dict(leaves(json.loads(text)))
    if path.endswith(".csv"):
        rows = csv.DictReader(io.StringIO(text))
        return {f"row {i} {name}": _number(value) for i, row in enumerate(rows, 1) for name, value in row.items()}
    return {f"line {i}": line for i, line in enumerate(text.splitlines(), 1)}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
