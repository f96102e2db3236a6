"""The program as a process: whatever the locale, the reader of its output, and the moment it is interrupted."""

import fcntl
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
import tomllib
from pathlib import Path

import pytest

from charlm import __main__ as program
from charlm import paths
from charlm.cli.commands import cli
from tests.test_cli.scratch import CHARLM, PATH, ROOT, as_process, write_repository

ENGLISH_AND_CHINESE = "\u4f60\u597d world, caf\u00e9 \U0001f600\n" * 20


@pytest.fixture(scope="session")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose text is not ASCII."""
    return write_repository(tmp_path_factory.mktemp("chinese"), ENGLISH_AND_CHINESE)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_text_is_utf8_in_and_out_whatever_the_locale(chinese: Path, locale: dict[str, str], tmp_path: Path) -> None:
    done = as_process(chinese, "sample", "--prompt", "caf\u00e9 \u4f60".encode(), "--length", "30", environment=locale)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().startswith("caf\u00e9 \u4f60")
    assert len(done.stdout.decode()) == len("caf\u00e9 \u4f60") + 30 + 1
    place = tmp_path / "\u4f60\u597d"
    place.mkdir()
    (place / "\u4f60.txt").write_bytes("\u4f60\u597d \u00fc".encode())
    scored = as_process(chinese, "score", bytes(place / "\u4f60.txt"), environment=locale)
    assert scored.stdout.decode().startswith(f"{place}/\u4f60.txt: 4 characters, 2 predicted")
    assert "1 characters, '\u00fc'".encode() in scored.stdout
    assert f"no params.yaml in {place} nor".encode() in as_process(place, "inspect", environment=locale).stderr
    wrong = as_process(chinese, "sample", "--prompt", b"caf\xe9", environment=locale)
    assert wrong.returncode == 2
    assert b"not UTF-8 at byte 3" in wrong.stderr


def test_help_has_examples_and_imports_nothing_large(tmp_path: Path) -> None:
    for command in ((), *((name,) for name in cli.commands)):
        done = as_process(tmp_path, *command, "--help")
        assert (done.returncode, done.stderr) == (0, b"")
        examples = done.stdout.decode().split("Examples:\n")[1].splitlines()
        assert all(f"charlm {' '.join(command)}" in line for line in examples)
    loaded = "import sys; from charlm.cli.commands import cli; print({'torch', 'numpy', 'pydantic'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", loaded], env=PATH, capture_output=True, check=True).stdout == b"set()\n"
    )


def endless(place: Path) -> subprocess.Popen[bytes]:
    """Start to write a text whose end nobody waits for."""
    command = [*CHARLM, "sample", "--length", "1000000000"]
    return subprocess.Popen(command, cwd=place, env=PATH, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_text_streams_and_a_reader_that_has_enough_ends_it_in_silence(place: Path) -> None:
    with endless(place) as process:
        assert process.stdout
        assert process.stderr
        assert len(process.stdout.read(50)) == 50  # long before the end
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == -signal.SIGPIPE
    shell = f"{shlex.join(CHARLM)} sample --length 100000 | head -c 20"
    done = subprocess.run(["bash", "-c", shell], cwd=place, env=PATH, capture_output=True, check=False, timeout=60)
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 20, b"")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sample --length 5 >&-", b"error: standard output is closed; there is nowhere to write to\n"),
        ("inspect >&-", b"error: standard output is closed; there is nowhere to write to\n"),
        ("score - <&-", b"error: standard input is closed; name a file, or pipe a text into it\n"),
    ],
)
def test_a_closed_stream_is_one_line(place: Path, command: str, said: bytes) -> None:
    shell = f"{shlex.join(CHARLM)} {command}"
    done = subprocess.run(["bash", "-c", shell], cwd=place, env=PATH, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", said)


@pytest.mark.parametrize("after", [0.2, 1.0, None], ids=["at the start", "in an import", "in the text"])
def test_ctrl_c_ends_with_a_word_and_status_130(place: Path, after: float | None) -> None:
    with endless(place) as process:
        assert process.stdout
        assert process.stderr
        if after is None:
            process.stdout.read(10)
        else:
            time.sleep(after)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        error = process.stderr.read().decode()
        status = process.wait(timeout=30)
    # Interrupted within an exec, as dataclass has one, CPython ends itself by the signal, which shells call 130 too.
    assert status in (130, -signal.SIGINT)
    if after != 0.2:  # when the interpreter itself may still be starting
        assert error.strip() == "interrupted"


def test_colours_are_for_terminals_only(place: Path) -> None:
    arguments = ("sample", "--prompt", "the", "--num-samples", "2", "--length", "5")
    plain = as_process(place, *arguments).stdout.decode()
    assert "\x1b" not in plain
    coloured = on_a_terminal(place, *arguments)
    assert coloured.startswith("\x1b[2m--- text 1 of 2 ---\x1b[0m\n\x1b[1mthe\x1b[0m")
    assert re.sub("\x1b\\[[0-9]*m", "", coloured) == plain
    assert on_a_terminal(place, *arguments, NO_COLOR="1") == plain


def on_a_terminal(where: Path, *arguments: str, **environment: str) -> str:
    outer, inner = pty.openpty()
    settings = termios.tcgetattr(inner)
    settings[1] &= ~termios.ONLCR  # line ends stay as they are
    termios.tcsetattr(inner, termios.TCSANOW, settings)
    fcntl.ioctl(inner, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
    with subprocess.Popen([*CHARLM, *arguments], cwd=where, env=PATH | environment, stdout=inner) as process:
        os.close(inner)
        found = b""
        while True:
            try:
                part = os.read(outer, 4096)
            except OSError:  # how Linux tells that the other side is closed
                break
            if not part:
                break
            found += part
        assert process.wait() == 0
    os.close(outer)
    return found.decode()


def test_usage_that_is_wrong_is_status_2(tmp_path: Path) -> None:
    alone = as_process(tmp_path)
    assert (alone.returncode, alone.stdout) == (2, b"")
    assert b"Commands:" in alone.stderr
    command = as_process(tmp_path, "smaple")
    assert command.returncode == 2
    assert command.stderr.decode().startswith("error: No such command 'smaple'")
    option = as_process(tmp_path, "sample", "--lenght", "5")
    assert option.returncode == 2
    assert "'--length'" in option.stderr.decode()
    assert len(option.stderr.splitlines()) == 1


def test_the_installed_command_is_this_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"charlm": "charlm.__main__:main"}
    assert callable(program.main)
    assert any(dependency.startswith("click") for dependency in project["dependencies"])


def test_the_texts_of_the_report_are_those_that_the_program_writes() -> None:
    if not (ROOT / paths.checkpoint("attention", 1)).is_file():
        pytest.skip("needs the trained models: run `make repro`")
    samples = json.loads((ROOT / paths.SAMPLES).read_text(encoding="utf-8"))
    done = as_process(ROOT, "sample", "--model", "both", "--temperature", "1.5", "--json")
    found = {text["model"]: text["text"] for text in json.loads(done.stdout)["texts"]}
    assert found == {text["model"]: text["text"] for text in samples["texts"] if text["temperature"] == 1.5}


def test_the_losses_of_the_report_are_those_of_the_validation_text(tmp_path: Path, corpus_text: str) -> None:
    if not (ROOT / paths.checkpoint("attention", 1)).is_file():
        pytest.skip("needs the trained models: run `make repro`")
    metrics = json.loads((ROOT / paths.METRICS).read_text(encoding="utf-8"))
    validation = tmp_path / "validation.txt"
    validation.write_text(corpus_text[-metrics["tokens"]["val"] - 1 :], encoding="ascii")
    done = as_process(ROOT, "score", str(validation), "--json")
    for model, found in json.loads(done.stdout)["models"].items():
        assert found["loss"] == metrics["models"][model]["val_loss"]
        assert found["loss_sd"] == metrics["models"][model]["val_loss_sd"]
