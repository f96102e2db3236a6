"""A scratch Git and DVC repository with the pipeline in it, driven as a user drives it."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

STAGES = ("download", "tokenize", "train_bigram", "train_attention", "evaluate", "plot")

# What make shall not bring up to date in a scratch repository whose .venv is this one, through a link.
OUR_VENV = ("--assume-old=.venv/.installed", "--assume-old=.venv/bin/charlm")

# Small enough for a test, and still two seeds, several evaluations and a last step.
CHARACTERS = 100_000
SMALL = {
    "train.steps": "40",
    "train.eval_interval": "20",
    "train.seeds": "[1, 2]",
    "evaluate.length": "50",
    "plot.dpi": "60",
}


@dataclass(frozen=True)
class Repository:
    """A working copy and the variables that its commands see."""

    path: Path
    environment: dict[str, str]

    def run(self, *command: str, status: int = 0) -> str:
        """Run a command, check its exit status, and return what it wrote to both streams."""
        done = subprocess.run(
            command,
            check=False,
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert done.returncode == status, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def json(self, *command: str) -> Any:
        """Run a command and return the JSON that it wrote to stdout."""
        answer = subprocess.run(command, cwd=self.path, env=self.environment, check=True, stdout=subprocess.PIPE)
        return json.loads(answer.stdout)

    def repro(self) -> list[str]:
        """Run `dvc repro` and return the stages that ran, in order."""
        return stages_that_ran(self.run("dvc", "repro"))

    def commit(self, message: str) -> None:
        """Commit all that has changed."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def stale(self) -> set[str]:
        """Return the stages whose own dependencies changed (`dvc repro --dry` shows none beyond these either)."""
        return set(self.json("dvc", "status", "--json"))

    def set(self, **parameters: str) -> None:
        """Change values of params.yaml in place, each written as `section__key="value"`."""
        for name, value in parameters.items():
            set_parameter(self.path / "params.yaml", name.replace("__", "."), value)

    def files(self) -> dict[str, bytes]:
        """Return the bytes of what the pipeline leaves in Git."""
        kept = [self.path / "dvc.lock", *sorted((self.path / "reports").rglob("*"))]
        return {str(file.relative_to(self.path)): file.read_bytes() for file in kept if file.is_file()}

    def copy(self, path: Path) -> "Repository":
        """Return a copy with its own cache."""
        shutil.copytree(self.path, path, symlinks=True)
        return Repository(path, dict(self.environment))

    def clone(self, path: Path) -> "Repository":
        """Return a fresh clone of the commit: no data, no cache."""
        self.run("git", "clone", "--quiet", str(self.path), str(path))
        return Repository(path, dict(self.environment))


def stages_that_ran(said: str) -> list[str]:
    """Return the stages whose commands DVC says it started, in order."""
    return re.findall(r"^Running stage '(\w+)':$", said, re.MULTILINE)


def set_parameter(file: Path, name: str, value: str) -> None:
    """Change one value of a params.yaml, on its line or below it, and no other byte but a comment behind it."""
    section, key = name.split(".")
    text = file.read_text(encoding="utf-8")
    pattern = rf"(^{section}:\n(?:[ #].*\n|\n)*?  {key}:).*\n(?:   .*\n)*"
    changed, count = re.subn(pattern, lambda match: f"{match[1]} {value}\n", text, flags=re.MULTILINE)
    assert count == 1, f"{file} has no {name}"
    file.write_text(changed, encoding="utf-8")


def make(path: Path, text: str, scratch: Path) -> Repository:
    """Make a repository in `path` of this working tree's files, with less work to do, and commit it.

    Args:
        path: where it shall be.
        text: the corpus.
        scratch: for the local copy of the corpus, and for what DVC keeps outside of a repository.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith(("reports/", "tests/")) or name == "dvc.lock" or not (ROOT / name).is_file():
            continue
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, path / name)
    scratch.mkdir()
    corpus = scratch / "corpus.txt"
    corpus.write_bytes(text.encode("utf-8"))
    small = SMALL | {"data.sha256": hashlib.sha256(corpus.read_bytes()).hexdigest()}
    for name, value in small.items():
        set_parameter(path / "params.yaml", name, value)

    repository = Repository(path, _environment(corpus, scratch))
    repository.run("git", "init", "--quiet", "--initial-branch=main")
    repository.run("git", "add", "--all")
    repository.run("git", "commit", "--quiet", "--message", "The pipeline, with less work to do")
    return repository


def _environment(corpus: Path, scratch: Path) -> dict[str, str]:
    """Return this process's variables, without the user's settings of Git, DVC and Python."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_", "PYTHON", "CHARLM_"))
    }
    return inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CHARLM_CORPUS": str(corpus),
        "CHARLM_JOBS": "1",  # the cheapest, since each process imports torch; who needs more says so
        "DVC_NO_ANALYTICS": "1",
        "DVC_GLOBAL_CONFIG_DIR": str(scratch),
        "DVC_SITE_CACHE_DIR": str(scratch),
        "DVC_SYSTEM_CONFIG_DIR": str(scratch),
        "GIT_AUTHOR_EMAIL": "test@example.com",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.com",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
