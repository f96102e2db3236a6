"""`make check`: does what is committed fit together? Needs no cache, no remote and no training.

It prints one line per fault, the stage and the reason, and ends with status 1; or one line that all is right.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from charlm import paths
from charlm.console import run
from charlm.errors import CharlmError
from tools.pipeline import DECLARED, LOCKED, Entry, Stage, declared, locked

_AGAIN = "run `dvc repro`"


class Fault(NamedTuple):
    """What does not fit.

    Attributes:
        stage: the stage it belongs to, or a file that belongs to none.
        path: the file or the parameter.
        reason: the rest of the line.
    """

    stage: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.path} {self.reason}"


def main() -> None:
    """Check the repository in the current folder."""
    faults = check()
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print("The pipeline, its results and its lock file fit together.")


def check() -> list[Fault]:
    """Return what is wrong in the current folder, each thing once."""
    with subprocess.Popen(
        [sys.executable, "-m", "dvc", "status", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asked:
        from tools.results import bad_results  # imports pandas, in the second in which DVC looks

        bad = list(bad_results())
        status, refused = _status(asked)
    if refused:
        return [Fault("dvc", "status", f"says: {refused}")]
    stages, lock = declared(Path()), locked(Path())
    in_git = _tracked()
    kept = tuple(path for stage in stages.values() for path, is_cached in stage.outs.items() if not is_cached)
    if not lock and not any(path.startswith(kept) for path in in_git):
        return []  # the pipeline has not run yet: there is nothing that could be stale

    found: dict[tuple[str, str], Fault] = {}
    for fault in (
        *_unlocked(stages, lock),
        *_changed({name: changes for name, changes in status.items() if name in lock}, stages),
        *_broken_chain(lock),
        *_not_in_git(stages, in_git),
        *_bad_results(stages, bad),
    ):
        found.setdefault((fault.stage, fault.path), fault)
    return list(found.values())


def _status(asked: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    """Return what `dvc status` finds, and in one line why it finds nothing out, else ''."""
    said, complaint = asked.communicate()
    if asked.returncode:
        return {}, " ".join((complaint or said).split())
    found: dict[str, Any] = json.loads(said)
    return found, ""


def _tracked() -> set[str]:
    done = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CharlmError(f"git cannot list its files here: {done.stderr.strip()}")
    return set(done.stdout.split("\0"))


def _unlocked(stages: Mapping[str, Stage], lock: Mapping[str, Entry]) -> Iterator[Fault]:
    """Compare names only. `dvc status` does not see what dvc.yaml lists no longer."""
    for name in lock.keys() - stages.keys():
        yield Fault(name, str(DECLARED), f"has no such stage, and {LOCKED} has; remove it there")
    for name, stage in stages.items():
        if name not in lock:
            yield Fault(name, str(LOCKED), f"has no entry for this stage; {_AGAIN}")
            continue
        entry = lock[name]
        for kind, wanted, have in (
            ("a dependency", stage.deps, entry.deps.keys()),
            ("a parameter", stage.params, entry.params),
            ("an output", stage.outs.keys(), entry.outs.keys()),
        ):
            for path in sorted(wanted - have):
                yield Fault(name, path, f"is {kind} in {DECLARED} and not yet in {LOCKED}; {_AGAIN}")
            for path in sorted(have - wanted):
                yield Fault(name, path, f"is {kind} in {LOCKED} and no longer in {DECLARED}; {_AGAIN}")


def _changed(status: Mapping[str, list[Any]], stages: Mapping[str, Stage]) -> Iterator[Fault]:
    """Read what `dvc status` says, less the data and checkpoints that are merely not here."""
    cached = {path for stage in stages.values() for path, is_cached in stage.outs.items() if is_cached}
    bad_outs = set()
    for name, changes in status.items():
        for path, how in _merged(changes, "changed outs").items():
            if path not in cached or how not in ("deleted", "not in cache"):
                bad_outs.add(path)
                what = "is missing" if how == "deleted" else f"is not the file that {LOCKED} says came out"
                yield Fault(name, path, f"{what}; {_AGAIN}")
    for name, changes in status.items():
        if "changed command" in changes:
            yield Fault(name, "cmd", f"in {DECLARED} is not the command that ran; {_AGAIN}")
        for path, how in _merged(changes, "changed deps").items():
            if isinstance(how, dict):
                yield from (Fault(name, key, f"in {path} is not the value that was used; {_AGAIN}") for key in how)
            elif path not in bad_outs and not (path in cached and how == "deleted"):
                what = "is missing" if how == "deleted" else "is not the file that was used"
                yield Fault(name, path, f"{what}; {_AGAIN}")


def _merged(changes: list[Any], kind: str) -> dict[str, Any]:
    return {path: how for change in changes if isinstance(change, dict) for path, how in change.get(kind, {}).items()}


def _broken_chain(lock: Mapping[str, Entry]) -> Iterator[Fault]:
    """Compare what one stage read with what another made: data that is not here shows no other difference."""
    made = {path: (name, made_as) for name, entry in lock.items() for path, made_as in entry.outs.items()}
    for name, entry in lock.items():
        for path, read_as in entry.deps.items():
            maker, made_as = made.get(path, ("", read_as))
            if made_as != read_as:
                yield Fault(name, path, f"was read before {maker} made it as {LOCKED} says; {_AGAIN}")


def _not_in_git(stages: Mapping[str, Stage], in_git: set[str]) -> Iterator[Fault]:
    cached = {path for stage in stages.values() for path, is_cached in stage.outs.items() if is_cached}
    for name, stage in stages.items():
        for path in sorted((stage.deps | stage.outs.keys()) - cached):
            for file in sorted(_seen(Path(path)) if Path(path).is_dir() else [Path(path)]):
                # A text or a folder of them may lie in DVC's cache: then a file beside it stands for it in Git.
                if file.exists() and not in_git & {str(file), *(f"{place}.dvc" for place in (file, *file.parents))}:
                    yield Fault(name, str(file), "is not in Git, so a clone lacks it; `git add` it")
    for file in (DECLARED, LOCKED, paths.PARAMS):
        if file.exists() and str(file) not in in_git:
            yield Fault("git", str(file), "is not in Git, so a clone lacks it; `git add` it")


def _seen(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder but those that are hidden, or lie in what is: DVC does not see them (.dvcignore)."""
    for file in folder.rglob("*"):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file


def _bad_results(stages: Mapping[str, Stage], found: Iterable[tuple[Path, str]]) -> Iterator[Fault]:
    maker = {path: name for name, stage in stages.items() for path in stage.outs} | {str(paths.PARAMS): "evaluate"}
    yield from (Fault(maker.get(str(path), "plot"), str(path), f"is no good: {reason}") for path, reason in found)


if __name__ == "__main__":
    run(main)
