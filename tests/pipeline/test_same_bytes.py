"""Wherever and however the pipeline runs, the same bytes come out: lock file, curves, metrics, figure and report.

Every thing that must not matter differs between two runs from nothing, which take their text from different
places too. That the processor does not matter is shown in tests/test_portability.py.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.repository import STAGES, Repository, stages_that_ran
from tests.servers import Server, serving, whole

CAN_BE_TURKISH = shutil.which("localedef") and Path("/usr/share/i18n/locales/tr_TR").exists()
CAN_BE_LONG_AGO = shutil.which("faketime")


@pytest.fixture
def server() -> Iterator[Server]:
    """A web server on this machine."""
    with serving() as server:
        yield server


def test_nothing_around_the_pipeline_changes_a_byte(
    server: Server, fresh: Repository, finished: Repository, tmp_path: Path
) -> None:
    address = server.on("/text", whole(Path(fresh.environment["CHARLM_CORPUS"]).read_bytes()))
    source = fresh.clone(tmp_path / "source")
    source.set(data__sources=json.dumps([{"url": address}]))
    source.run("git", "commit", "--quiet", "--all", "--message", "Take the text from a server of our own")

    one = elsewhere(source, tmp_path / "a b", "root", tmp_path)
    one.environment.update(
        {
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONHASHSEED": "1",
            "TZ": "Pacific/Kiritimati",
            "CHARLM_JOBS": "1",
            "OMP_NUM_THREADS": "8",
            "MKL_NUM_THREADS": "1",
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_CBWR": "AVX2",
            "MPLBACKEND": "svg",
            "MATPLOTLIBRC": str(matplotlibrc(tmp_path)),
        }
    )
    other = elsewhere(source, tmp_path / "Größe/ein sehr viel längerer Pfad", "çelebi", tmp_path)
    del other.environment["CHARLM_CORPUS"]
    other.environment.update(
        turkish(tmp_path / "locales")
        | {
            "PYTHONHASHSEED": "4242",
            "TZ": "America/St_Johns",
            "CHARLM_JOBS": "3",
            "OMP_NUM_THREADS": "3",
            "MKL_NUM_THREADS": "8",
            "CUBLAS_WORKSPACE_CONFIG": ":16:8",
            "MALLOC_ARENA_MAX": "1",
        }
    )

    for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        assert {run.environment[threads] for run in (one, other, finished)} == {"1", "3", "8"}
    assert set(one.repro()) == set(STAGES)
    assert server.asked == []
    assert set(on_another_day(other)) == set(STAGES)
    assert server.asked == ["/text"]

    assert one.files() == other.files()
    assert {name: one.files()[name] for name in one.files() if name != "dvc.lock"} == {
        name: content for name, content in finished.files().items() if name != "dvc.lock"
    }


@pytest.mark.parametrize(
    ("possible", "package", "what"),
    [(CAN_BE_TURKISH, "locales", "language"), (CAN_BE_LONG_AGO, "faketime", "date")],
)
def test_the_runs_above_differ_in_this_too(possible: object, package: str, what: str) -> None:
    if not possible:
        pytest.skip(f"to run in another {what}, install {package}, a package of Debian's")


def elsewhere(source: Repository, path: Path, user: str, scratch: Path) -> Repository:
    """Return a clone in another folder and of another user, with a home and a cache of its own."""
    path.mkdir(parents=True)
    home = scratch / f"home of {user}"
    home.mkdir()
    clone = source.clone(path / "clone")
    clone.environment.update(
        {
            "HOME": str(home),
            "USER": user,
            "LOGNAME": user,
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "DVC_SITE_CACHE_DIR": str(home / "dvc"),
        }
    )
    return clone


def matplotlibrc(folder: Path) -> Path:
    """Write settings that would change each picture."""
    file = folder / "matplotlibrc"
    file.write_text("savefig.dpi: 30\nlines.linewidth: 9\nfont.size: 30\naxes.facecolor: black\n", encoding="utf-8")
    return file


def turkish(folder: Path) -> dict[str, str]:
    """Return the variables of a locale with decimal commas and a dotless i, which is made here if it can be."""
    if not CAN_BE_TURKISH:
        return {"LC_ALL": "C.UTF-8"}
    folder.mkdir()
    made = folder / "tr_TR.UTF-8"
    subprocess.run(["localedef", "--inputfile=tr_TR", "--charmap=UTF-8", made], check=True, capture_output=True)
    variables = {"LOCPATH": str(folder), "LC_ALL": made.name}
    asked = subprocess.run(["locale", "decimal_point"], env=os.environ | variables, check=True, capture_output=True)
    assert asked.stdout == b",\n", "the locale takes effect"
    return variables


def on_another_day(repository: Repository) -> list[str]:
    """Run the pipeline long ago, if that can be."""
    if not CAN_BE_LONG_AGO:
        return repository.repro()
    repository.environment.update({"FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"})
    long_ago = ("faketime", "-f", "@2001-09-09 01:46:40")
    assert repository.run(*long_ago, "python", "-c", "import datetime as d; print(d.date.today())") == "2001-09-09\n"
    return stages_that_ran(repository.run(*long_ago, "dvc", "repro"))
