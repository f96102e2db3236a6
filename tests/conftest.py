"""What several tests need: the real text."""

import hashlib
import os
import signal
from pathlib import Path

import hypothesis
import pytest

# Read when torch is imported: models this small are fastest on one thread, and on a busy machine by far.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example may take is no question for a test: the machine may be busy.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")

# A shell that starts the tests in the background lets them ignore Ctrl-C, and with them all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"


@pytest.fixture(scope="session")
def corpus_file() -> Path:
    """The real tiny Shakespeare: a copy that was named, one beside the checkout, or the pipeline's own."""
    named = os.environ.get("CHARLM_CORPUS")
    places = (
        [Path(named)] if named else [ROOT.parent / "shared/corpora/tinyshakespeare.txt", ROOT / "data/raw/corpus.txt"]
    )
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip("needs tiny Shakespeare: `make repro` downloads it, or set CHARLM_CORPUS=<file>")
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    assert digest == SHA256, f"{found} is not tiny Shakespeare: its SHA-256 is {digest}"
    return found.resolve()


@pytest.fixture(scope="session")
def corpus_text(corpus_file: Path) -> str:
    """The real tiny Shakespeare as a string."""
    return corpus_file.read_bytes().decode("ascii")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: files are tested side by side, and nothing should wait for one at the end."""
    minutes = ("test_portability.py", "test_experiments.py", "test_interruption.py")
    items.sort(key=lambda item: (item.path.name not in minutes, item.path.parent.name != "pipeline"))


@pytest.fixture
def params(tmp_path: Path) -> Path:
    """A params.yaml of its own for one test."""
    return tmp_path / "params.yaml"
