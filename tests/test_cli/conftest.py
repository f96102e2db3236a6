"""The program, run in this process in a small repository."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from charlm.__main__ import main
from tests.test_cli.scratch import TEXT, Done, write_repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, which is also where the test is."""
    root = write_repository(tmp_path / "repository", TEXT)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def charlm(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """Run the program in this process, with arguments and bytes on standard input."""
    environment, on_closed_pipe = dict(os.environ), signal.getsignal(signal.SIGPIPE)

    def call(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["charlm", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        if isinstance(end.value.code, str):  # which the interpreter would print
            return Done(1, out, f"{err}{end.value.code}\n")
        return Done(int(end.value.code or 0), out, err)

    yield call
    signal.signal(signal.SIGPIPE, on_closed_pipe)
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository, which no test changes."""
    return write_repository(tmp_path_factory.mktemp("repository"), TEXT)
