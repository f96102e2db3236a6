"""The fingerprint of a run depends on all that shapes it, and on nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from charlm import resume
from charlm.numerics import environment

SOURCE = Path(resume.__file__).parent.parent


def test_the_fingerprint_depends_on_settings_and_data(tmp_path: Path) -> None:
    some, same, others = (tmp_path / name for name in ("some", "same", "others"))
    for path, content in ((some, b"abc"), (same, b"abc"), (others, b"cba")):
        path.write_bytes(content)
    found = {
        resume.fingerprint({}, []),
        resume.fingerprint({"seed": 1}, []),
        resume.fingerprint({"seed": 2}, []),
        resume.fingerprint({}, [some]),
        resume.fingerprint({}, [some, some]),
        resume.fingerprint({}, [others]),
        resume.fingerprint({}, [some, others]),
        resume.fingerprint({}, [others, some]),
    }
    assert len(found) == 8
    assert resume.fingerprint({"a": 1, "b": 2}, [some]) == resume.fingerprint({"b": 2, "a": 1}, [same])


def test_a_file_is_read_once_for_all_fingerprints_while_it_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def content(path: Path) -> str:
        read.append(path)
        return path.read_text()

    monkeypatch.setattr(resume, "sha256", content)
    path = tmp_path / "tokens"
    path.write_text("abc")
    first = resume.fingerprint({}, [path])
    assert resume.fingerprint({}, [path]) == first
    assert read == [path]
    before = path.stat().st_mtime_ns
    path.write_text("abd")
    os.utime(path, ns=(before + 1, before + 1))
    assert resume.fingerprint({}, [path]) != first
    (tmp_path / "another").write_text("abc")
    os.utime(tmp_path / "another", ns=(before, before))
    (tmp_path / "another").replace(path)
    assert resume.fingerprint({}, [path]) == first
    assert read == [path] * 3


@pytest.mark.parametrize(
    ("where", "what", "value"),
    [
        ("charlm.resume.torch.__version__", None, "2.99"),
        ("charlm.resume.np.__version__", None, "9.9"),
        ("charlm.resume.platform.python_version", None, lambda: "3.99"),
        ("charlm.resume.platform.machine", None, lambda: "riscv64"),
        ("charlm.resume.torch.backends.cpu.get_cpu_capability", None, lambda: "AVX1024"),
        *[(None, name, "other") for name in environment("portable")],
    ],
)
def test_the_fingerprint_depends_on_versions_processor_and_pins(
    where: str | None, what: str | None, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resume.fingerprint({}, [])
    if where:
        monkeypatch.setattr(where, value)
    else:
        assert what
        monkeypatch.setenv(what, value)
    assert resume.fingerprint({}, []) != before


def test_the_fingerprint_depends_on_the_code_as_it_was_when_the_process_started(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    edited = source / "charlm/models/attention.py"
    program = f"""
from pathlib import Path
from charlm import resume
print(resume.fingerprint({{}}, []))
with Path({str(edited)!r}).open("a") as module:
    module.write("# as a person does who mends it while it runs")
print(resume.fingerprint({{}}, []))
"""

    def fingerprints() -> list[str]:
        command = [sys.executable, "-B", "-c", program]
        return subprocess.check_output(command, env={**os.environ, "PYTHONPATH": str(source)}, text=True).split()

    before, meanwhile = fingerprints()
    after, _ = fingerprints()
    assert before == meanwhile
    assert before != after
