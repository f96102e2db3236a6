"""The text the models learn from: brought here from the first source that has the right one."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from charlm import files
from charlm.errors import CharlmError
from charlm.sources import AnySource, copy
from charlm.transport import PATIENT, Patience

logger = logging.getLogger(__name__)

LOCAL_COPY = "CHARLM_CORPUS"  # the environment variable that names a file of the user's own


def bring(
    target: Path,
    sources: Sequence[AnySource],
    sha256: str | None,
    max_bytes: int,
    patience: Patience = PATIENT,
) -> None:
    """Make `target` the text, from the first source that has it.

    The hash decides, so the source leaves no trace in the bytes. `sha256` None takes any text, and logs its
    hash. `max_bytes` bounds what comes from elsewhere; own files have no limit.

    Raises:
        CharlmError: when every source fails, naming each with its reason. `target` is then as it was.
    """
    failures = []
    for source in sources:
        try:
            size = _accept(partial(source.fetch, max_bytes=max_bytes, patience=patience), target, sha256)
        except CharlmError as error:
            failures.append(f"{source}: {error}")
        else:
            passed_over = f" (passed over: {'; '.join(failures)})" if failures else ""
            logger.info("%s: %d bytes from %s%s", target, size, source, passed_over)
            return
    which = f" with SHA-256 {sha256}" if sha256 else ""
    raise CharlmError(
        f"no source has the text: {'; '.join(failures)}. Set {LOCAL_COPY}=<file> to a local copy{which}, "
        "or change data.sources, data.sha256 (null takes any text) or data.max_bytes in params.yaml"
    )


def bring_local(target: Path, local: Path, sha256: str | None) -> None:
    """Make `target` a copy of the file `local`. `sha256` None takes any text, and logs its hash.

    Raises:
        CharlmError: when `local` cannot be read or is another text. `target` is then as it was.
    """
    try:
        size = _accept(partial(copy, local), target, sha256)
    except CharlmError as error:
        raise CharlmError(
            f"{LOCAL_COPY}={local}: {error}. Name the right file, unset {LOCAL_COPY} to try data.sources, "
            "or change data.sha256 in params.yaml"
        ) from None
    logger.info("%s: %d bytes from %s=%s", target, size, LOCAL_COPY, local)


def _accept(fetch: Callable[[Path], None], target: Path, sha256: str | None) -> int:
    """Make what `fetch` writes `target` if it has the hash, and return its size in bytes."""
    with files.atomic(target) as temporary:
        fetch(temporary)
        size, found = temporary.stat().st_size, files.sha256(temporary)
        if size == 0:
            raise CharlmError("0 bytes, no text")
        if sha256 and found != sha256:
            raise CharlmError(f"{size} bytes with SHA-256 {found}, not {sha256}")
    if not sha256:
        logger.warning("sha256 %s is what was found; data.sha256 in params.yaml can pin it", found)
    return size
