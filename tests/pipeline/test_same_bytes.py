"""Wherever and however the pipeline runs, the same bytes come out: lock file, curves, metrics, figure and report.

Every thing that must not matter differs between two runs from nothing, which take their text from different
places too. That the processor does not matter is shown in tests/test_portability.py.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.repository import STAGES, Repository, stages_that_ran
from tests.servers import Server, serving, whole


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
        {
            "LC_ALL": "C.UTF-8",
            "LANG": "tr_TR.UTF-8",
            "PYTHONHASHSEED": "4242",
            "TZ": "America/St_Johns",
            "CHARLM_JOBS": "3",
            "OMP_NUM_THREADS": "3",
            "MKL_NUM_THREADS": "8",
            "CUBLAS_WORKSPACE_CONFIG": ":16:8",
            "MALLOC_ARENA_MAX": "1",
        }
    )

    assert set(one.repro()) == set(STAGES)
    assert server.asked == []
    assert set(on_another_day(other)) == set(STAGES)
    assert server.asked == ["/text"]

    assert one.files() == other.files()
    assert {name: one.files()[name] for name in one.files() if name != "dvc.lock"} == {
        name: content for name, content in finished.files().items() if name != "dvc.lock"
    }


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


def on_another_day(repository: Repository) -> list[str]:
    """Run the pipeline long ago, where faketime (a package of Debian's) is here to say so; else today."""
    if shutil.which("faketime"):
        repository.environment.update({"FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"})
        return stages_that_ran(repository.run("faketime", "-f", "@2001-09-09 01:46:40", "dvc", "repro"))
    return repository.repro()
