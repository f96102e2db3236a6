"""What a shell learns of the program: its commands, options and what they take."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from charlm import paths
from tests.test_cli.scratch import CHARLM, PATH, as_process


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(place: Path, shell: str) -> None:
    script = as_process(place, "completion", shell)
    assert script.returncode == 0
    assert b"_CHARLM_COMPLETE" in script.stdout

    def offered(*words: str) -> set[str]:
        asked = {"_CHARLM_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return {line.split(",")[1] for line in as_process(place, environment=asked).stdout.decode().splitlines()}

    if shell == "bash":
        assert offered("charlm", "s") == {"sample", "score"}
        assert offered("charlm", "sample", "--to") == {"--top-k", "--top-p"}
        assert offered("charlm", "sample", "--model", "b") == {"bigram", "both"}
        assert offered("charlm", "score", "--model", "b") == {"bigram"}
        assert offered("charlm", "score", "--seed-run", "") == {"1", "2"}


def test_bash_completes_as_the_readme_says(place: Path, tmp_path: Path) -> None:
    command = tmp_path / "charlm"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(CHARLM)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    session = """
        eval "$(charlm completion bash)"
        COMP_WORDS=(charlm sample --model b) COMP_CWORD=3
        $(complete -p charlm | sed 's/.*-F \\([^ ]*\\).*/\\1/') charlm b --model
        echo "${COMPREPLY[@]}"
    """
    environment = PATH | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", session], cwd=place, env=environment, capture_output=True, check=False, timeout=120
    )
    assert (done.stdout.decode().split(), done.stderr) == (["bigram", "both"], b"")


@pytest.mark.parametrize("params", [None, b"train: [\n", b"\xff"], ids=["outside", "no YAML", "no text"])
@pytest.mark.parametrize("words", ["charlm sample --model ", "charlm score --seed-run "])
def test_where_parameters_cannot_be_read_nothing_is_offered_and_the_prompt_stays_clean(
    tmp_path: Path, params: bytes | None, words: str
) -> None:
    if params is not None:
        (tmp_path / paths.PARAMS).write_bytes(params)
    asked = {"_CHARLM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    done = as_process(tmp_path, environment=asked)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"", b"")
