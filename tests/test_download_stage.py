"""The stage as DVC runs it: a process in a folder with a params.yaml."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError
from charlm.params import load
from stages.download import Data
from tests.servers import Server, serving, stall, whole

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "stages.download"]
TEXT = b"Speak, speak.\n" * 1000
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a text of an earlier time."""
    folder = tmp_path / "home"
    (folder / "data" / "raw").mkdir(parents=True)
    (folder / "data" / "raw" / "corpus.txt").write_bytes(b"old")
    return folder


def write_params(home: Path, **changes: Any) -> Path:
    data = {"sha256": SHA256, "max_bytes": len(TEXT), "sources": [{"url": "https://localhost/"}], **changes}
    path = home / "params.yaml"
    path.write_text(json.dumps({"data": data}))  # JSON is YAML
    return path


def environment(local: Path | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "CHARLM_CORPUS"}
    return {**kept, "PYTHONPATH": str(ROOT), **({"CHARLM_CORPUS": str(local)} if local else {})}


def download(home: Path, local: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(COMMAND, cwd=home, env=environment(local), capture_output=True, text=True, check=False)


def corpus_of(home: Path) -> bytes:
    """Return the text, after a look that it is alone in its folder."""
    [path] = (home / "data" / "raw").iterdir()
    return path.read_bytes()


def test_from_the_web(home: Path, server: Server) -> None:
    url = server.on("/", whole(TEXT))
    write_params(home, sources=[{"url": url}])
    done = download(home)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"data/raw/corpus.txt: {len(TEXT)} bytes from {url}\n"  # no progress bar without a terminal
    assert corpus_of(home) == TEXT


def test_every_source_fails(home: Path, server: Server) -> None:
    first, second = server.on("/1", whole(b"gone", 404)), server.on("/2", whole(b"<html>"))
    write_params(home, sources=[{"url": first}, {"url": second}])
    done = download(home)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"error: no source has the text: {first}: HTTP status 404; {second}: 6 bytes with SHA-256 ")
    assert line.endswith(
        f"Set CHARLM_CORPUS=<file> to a local copy with SHA-256 {SHA256}, "
        "or change data.sources, data.sha256 (null takes any text) or data.max_bytes in params.yaml"
    )
    assert corpus_of(home) == b"old"


def test_a_local_copy_needs_no_network(home: Path, server: Server, tmp_path: Path) -> None:
    write_params(home, sources=[{"url": server.on("/", whole(TEXT))}])
    local = tmp_path / "mine.txt"
    local.write_bytes(TEXT)
    done = download(home, local)
    assert done.returncode == 0
    assert done.stderr == f"data/raw/corpus.txt: {len(TEXT)} bytes from CHARLM_CORPUS={local}\n"
    assert corpus_of(home) == TEXT
    assert server.asked == []


def test_nothing_is_fetched_in_a_wrong_local_copys_stead(home: Path, server: Server, tmp_path: Path) -> None:
    write_params(home, sources=[{"url": server.on("/", whole(TEXT))}])
    local = tmp_path / "mine.txt"
    local.write_bytes(TEXT + b"\n")
    done = download(home, local)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    found = hashlib.sha256(TEXT + b"\n").hexdigest()
    assert line.startswith(f"error: CHARLM_CORPUS={local}: {len(TEXT) + 1} bytes with SHA-256 {found}, not {SHA256}. ")
    assert corpus_of(home) == b"old"
    assert server.asked == []


def test_without_a_hash_the_one_found_is_logged(home: Path, tmp_path: Path) -> None:
    write_params(home, sha256=None)
    local = tmp_path / "mine.txt"
    local.write_bytes(TEXT)
    done = download(home, local)
    assert done.returncode == 0
    assert done.stderr.startswith(f"sha256 {SHA256} is what was found; data.sha256 in params.yaml can pin it\n")


def test_a_folder_of_own_texts(home: Path) -> None:
    write_params(home, sources=[{"folder": "texts", "pattern": "*.txt"}])
    (home / "texts").mkdir()
    (home / "texts" / "2.txt").write_bytes(TEXT[700:])
    (home / "texts" / "1.txt").write_bytes(TEXT[:700])
    done = download(home)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "texts/*.txt: 2 files joined, from texts/1.txt to texts/2.txt\n"
        f"data/raw/corpus.txt: {len(TEXT)} bytes from texts/*.txt\n"
    )
    assert corpus_of(home) == TEXT


def stopped_amid_the_body(home: Path, server: Server, by: signal.Signals) -> tuple[int, str]:
    """Stop the stage while it waits for the rest of a text. Returns its exit status and what it said."""
    write_params(home, sources=[{"url": server.on("/", stall)}])
    with subprocess.Popen(COMMAND, cwd=home, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        while not server.sent_bytes:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)  # for the bytes to arrive
        process.send_signal(by)
        _, said = process.communicate(timeout=10)
    return process.returncode, said


def test_ctrl_c_leaves_nothing(home: Path, server: Server) -> None:
    assert stopped_amid_the_body(home, server, signal.SIGINT) == (130, "interrupted\n")
    assert corpus_of(home) == b"old"


def test_a_kill_leaves_the_old_text_and_the_next_run_mends(home: Path, server: Server) -> None:
    status, _ = stopped_amid_the_body(home, server, signal.SIGKILL)
    text = home / "data" / "raw" / "corpus.txt"
    assert status == -signal.SIGKILL
    assert text.read_bytes() == b"old"
    server.on("/", whole(TEXT))
    assert download(home).returncode == 0
    assert text.read_bytes() == TEXT


GOOD_WHEEL = {"wheel": "play==1.0", "members": ["a.txt"]}
WANTED_SOURCES = (
    "one or more of {url: https://...}, {wheel: name==version, members: [paths inside it]}, "
    "{file: texts/...} and {folder: texts/..., pattern: '*.txt'}"
)
IN_TEXTS = "a text of one's own lies in texts/, and nothing of its path begins with a dot"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "abc"}, "data.sha256 is 'abc'; it wants 64 lower-case hexadecimal digits, or null"),
        ({"sha256": SHA256.upper()}, f"data.sha256 is '{SHA256.upper()}'; it wants 64 lower-case"),
        ({"max_bytes": 0}, "data.max_bytes is 0; it wants a whole number of bytes above 0"),
        ({"max_bytes": 1.5}, "data.max_bytes is 1.5; it wants a whole number of bytes above 0"),
        ({"sources": []}, f"data.sources is []; it wants {WANTED_SOURCES}"),
        ({"sources": ["https://localhost/"]}, f"is 'https://localhost/'; it wants {WANTED_SOURCES}"),
        ({"sources": [{"url": "ftp://localhost/"}]}, f"is 'ftp://localhost/'; it wants {WANTED_SOURCES}"),
        ({"sources": [GOOD_WHEEL, {"wheel": "play==1.0"}]}, "data.sources.1.members is missing; it wants one"),
        ({"sources": [{**GOOD_WHEEL, "wheel": "play>=1"}]}, "data.sources.0.wheel is 'play>=1'; it wants"),
        ({"sources": [{**GOOD_WHEEL, "members": []}]}, "data.sources.0.members is []; it wants one or more of"),
        (
            {"sources": [{**GOOD_WHEEL, "members": ["../a"]}]},
            "data.sources.0.members.0 is '../a'; a member is a relative path",
        ),
        ({"sources": [{**GOOD_WHEEL, "url": "https://localhost/"}]}, "data.sources.0.url is not a known key"),
        ({"sources": [{"file": "mine.txt"}]}, f"data.sources.0.file is 'mine.txt'; {IN_TEXTS}"),
        ({"sources": [{"file": "/texts/a.txt"}]}, f"data.sources.0.file is '/texts/a.txt'; {IN_TEXTS}"),
        ({"sources": [{"file": "texts/../a.txt"}]}, f"data.sources.0.file is 'texts/../a.txt'; {IN_TEXTS}"),
        ({"sources": [{"file": "texts/.hidden"}]}, f"data.sources.0.file is 'texts/.hidden'; {IN_TEXTS}"),
        ({"sources": [{"folder": "texts"}]}, "data.sources.0.pattern is missing; it wants"),
        ({"sources": [{"folder": ".", "pattern": "*"}]}, f"data.sources.0.folder is '.'; {IN_TEXTS}"),
        (
            {"sources": [{"folder": "texts", "pattern": "../*"}]},
            "data.sources.0.pattern is '../*'; a pattern names files below",
        ),
        ({"sources": [{"folder": "texts", "pattern": "/etc/*"}]}, "data.sources.0.pattern is '/etc/*'"),
        (
            {"sources": [{"folder": "texts", "pattern": ""}]},
            "data.sources.0.pattern is ''; a pattern names files below",
        ),
    ],
)
def test_a_bad_setting_is_named(home: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CharlmError, match=re.escape(message)):
        load(Data, write_params(home, **changes))


def test_the_repositorys_own_settings() -> None:
    data = load(Data, ROOT / "params.yaml")
    assert data.sha256 == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    assert data.max_bytes == 1_115_394
    assert [type(source).__name__ for source in data.sources] == ["Url", "Wheel"]


def test_nothing_slow_is_imported() -> None:
    script = "import sys, stages.download; print({'torch', 'pandas', 'numpy', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
