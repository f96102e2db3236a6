"""Every command that a document names is one: a target of make, a module, or of DVC or `charlm` with its options.

What they do is tried elsewhere: those of docs/experiments.md in tests/pipeline/test_experiments.py.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby

import pytest
from dvc.cli.parser import get_main_parser  # type: ignore[import-untyped]

from charlm.cli.commands import cli
from tests.documents import ROOT, read, split_code

PAGES = sorted(
    str(page.relative_to(ROOT)) for folder in (".", "docs", "benchmarks") for page in ROOT.glob(f"{folder}/*.md")
)
PROGRAMS = {"make", "dvc", "python", "charlm"}
SPOKEN_OF = {("dvc", "exp", "apply"), ("charlm", "score")}  # without the name that they take


def lines(page: str) -> Iterator[str]:
    """Yield what stands as code on a page and may be a line for a shell."""
    for code in split_code(read(page))[1::2]:
        if not code.startswith("```"):
            yield " ".join(code.strip("`").split())
        elif code.startswith("```sh\n"):
            yield from code.splitlines()[1:-1]


def commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line that is one of the programs', without what is set for it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for is_punctuation, group in groupby(lexer, lambda word: set(word) <= set("();<>|&")):
        words = [word for word in group if not re.fullmatch(r"while|do|eval|[A-Z_]+=.*", word)]
        if words and words[0].startswith("$("):
            yield from commands(words[0][2:-1])
        elif not is_punctuation and len(words) > 1 and words[0] in PROGRAMS:
            yield words


COMMANDS = sorted({tuple(words) for page in PAGES for line in lines(page) for words in commands(line)})


def words_of(program: str) -> list[tuple[str, ...]]:
    named = [(*words, "NAME") if words in SPOKEN_OF else words for words in COMMANDS]
    return [words[1:] for words in named if words[0] == program]


@pytest.mark.parametrize("words", words_of("make"), ids=shlex.join)
def test_make_has_the_target(words: tuple[str, ...]) -> None:
    done = subprocess.run(["make", "--dry-run", *words], cwd=ROOT, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", words_of("dvc"), ids=shlex.join)
def test_dvc_has_the_command_and_its_options(words: tuple[str, ...]) -> None:
    get_main_parser().parse_args(words)  # which ends the program where it cannot


@pytest.mark.parametrize("words", words_of("python"), ids=shlex.join)
def test_python_has_the_module(words: tuple[str, ...]) -> None:
    assert words[0] == "-m"
    assert find_spec(words[1])


@pytest.mark.parametrize("words", words_of("charlm"), ids=shlex.join)
def test_charlm_has_the_command_and_its_options(words: tuple[str, ...]) -> None:
    name, *options = words
    cli.commands[name].make_context(name, list(options))


def test_each_program_is_named_somewhere() -> None:
    assert all(words_of(program) for program in PROGRAMS)
