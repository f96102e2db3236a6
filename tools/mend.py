"""Mend what DVC leaves half written when it is killed itself within a write; `make repro` asks when DVC has failed.

Exit status 0 when something was mended, so that trying again makes sense, and 1 when there was nothing to mend.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dvc.dvcfile import LOCK_FILE, Lockfile  # type: ignore[import-untyped]
from dvc.exceptions import DvcException  # type: ignore[import-untyped]
from dvc.repo import Repo  # type: ignore[import-untyped]
from dvc.utils.serialize import EncodingError, YAMLFileCorruptedError  # type: ignore[import-untyped]
from dvc.utils.strictyaml import YAMLValidationError  # type: ignore[import-untyped]

from charlm.console import run
from charlm.errors import CharlmError

_WHO_IS_AT_WORK = Path(".dvc/tmp/rwlock")


def main() -> None:
    """Mend the repository in the current folder, with a line for each file."""
    try:
        repository = Repo()
        with repository.lock:  # a DVC that is at work may be within such a write
            lines = list(mend(repository))
    except DvcException:  # it is at work, or cannot open the repository for a reason that it has told itself
        lines = []
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(0 if lines else 1)


def mend(repository: Repo) -> Iterator[str]:
    """Mend the files that DVC cannot read, and yield what was done.

    Raises:
        CharlmError: when Git does not give the lock file back.
    """
    if not _is_json(_WHO_IS_AT_WORK):
        _WHO_IS_AT_WORK.unlink()
        yield f"{_WHO_IS_AT_WORK} was half written, and is removed: DVC makes it anew"
    if not _is_whole(repository, Path(LOCK_FILE)):
        done = subprocess.run(
            ["git", "checkout", "--quiet", "--", LOCK_FILE], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise CharlmError(f"{LOCK_FILE} is not whole, and Git says: {' '.join(done.stderr.split())}")
        yield f"{LOCK_FILE} was not whole, and is again what Git has; what was not in Git is run again"


def _is_whole(repository: Repo, lock_file: Path) -> bool:
    """Say whether DVC can read the file, if there is one."""
    try:
        Lockfile(repository, str(lock_file)).load()
    except (EncodingError, YAMLFileCorruptedError, YAMLValidationError):
        return False
    # DVC reads half a hash as well, as a number perhaps, and stumbles over it later; a whole file's last line ends.
    return not lock_file.exists() or lock_file.read_bytes()[-1:] in (b"", b"\n")


def _is_json(path: Path) -> bool:
    """Say whether the file, if there is one, can be read."""
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return True
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    run(main)
