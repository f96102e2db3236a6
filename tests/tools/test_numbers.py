"""`make numbers` writes pages whole, and says in one line what it cannot write."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from charlm import paths
from charlm.errors import CharlmError
from tests.pipeline.repository import ROOT
from tools import numbers

PAGE = "docs/walkthrough.md"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the results, and one page."""
    shutil.copytree(ROOT / "reports", tmp_path / "reports")
    (tmp_path / PAGE).parent.mkdir()
    (tmp_path / PAGE).write_text("9.9999<!--models.bigram.val_loss--> nats\n", encoding="utf-8")
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    monkeypatch.setattr(numbers, "PAGES", (PAGE,))
    numbers.values.cache_clear()
    yield tmp_path
    numbers.values.cache_clear()


def test_an_old_number_is_written_anew(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loss = json.loads((place / paths.METRICS).read_bytes())["models"]["bigram"]["val_loss"]
    numbers.main()
    assert (place / PAGE).read_text(encoding="utf-8") == f"{loss:.4f}<!--models.bigram.val_loss--> nats\n"
    numbers.main()
    assert capsys.readouterr().out == (
        f"{PAGE}: its numbers were old and are those of the results\n{PAGE}: its numbers are those of the results\n"
    )


def test_a_page_is_written_whole_or_not_at_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = (place / PAGE).read_bytes()

    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    def full_for_text(path: Path, text: str, **_: object) -> int:
        with path.open("wb") as file:
            return full(path, b"") if file.truncate() == 0 else 0

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(Path, "write_text", full_for_text)
    with pytest.raises(OSError, match="No space left"):
        numbers.main()
    assert (place / PAGE).read_bytes() == old
    assert list((place / PAGE).parent.iterdir()) == [place / PAGE]


def test_an_unknown_mark_is_one_line_with_what_is_near(place: Path) -> None:
    (place / PAGE).write_text("1<!--bits of models.bigram.val_los-->", encoding="utf-8")
    with pytest.raises(CharlmError, match=r"^there is no number 'models\.bigram\.val_los' in the results; did you mean "
                       r"models\.bigram\.val_loss or [\w.]+ or [\w.]+\?$"):  # fmt: skip
        numbers.main()


def test_a_pair_that_is_missing_is_one_line(place: Path) -> None:
    pairs = json.loads((place / paths.PAIRS).read_bytes())
    (place / paths.PAIRS).write_text(json.dumps([p for p in pairs if p["left"] != "cat"]), encoding="utf-8")
    with pytest.raises(CharlmError, match=r"^reports/details/pairs\.json has no pair with 'cat' on the left"):
        numbers.main()


def test_the_best_counts_are_those_of_the_metrics(place: Path) -> None:
    counts = json.loads((place / paths.METRICS).read_bytes())["counts"]
    by_context = {
        int(name.rpartition("_")[2]): row["val_loss_full"]
        for name, row in counts.items()
        if name.startswith("kneser_ney")
    }
    found = numbers.values()
    assert found["counts.best"] == min(by_context.values())
    assert by_context[int(found["counts.best_context"])] == found["counts.best"]


def test_without_kneser_ney_counts_the_other_numbers_are_there(place: Path) -> None:
    metrics = json.loads((place / paths.METRICS).read_bytes())
    metrics["counts"] = {k: v for k, v in metrics["counts"].items() if not k.startswith("kneser_ney")}
    (place / paths.METRICS).write_text(json.dumps(metrics), encoding="utf-8")
    assert "counts.best" not in numbers.values()
    numbers.main()
