"""The same bytes on any x86-64-v3 processor: this one, and an older Intel and an AMD that QEMU emulates.

An emulated process takes twenty times as long as a real one, half of it to import torch. So there are few of them,
each does all there is to do, and they run one after another.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm import paths
from charlm.files import sha256
from tests.examples import METRICS
from tools import trial

ROOT = Path(__file__).resolve().parent.parent
QEMU = "qemu-x86_64-static"
PROCESSORS = ("Haswell", "EPYC")  # the oldest with x86-64-v3 of the two makers, as `qemu-x86_64-static -cpu help` says
CHARACTERS = 3_000
STEPS = 24

# QEMU 7.2 computes VPGATHERQQ wrongly, so that numpy's argsort with AVX2 does not sort under emulation, though it does
# on real processors. So an emulated numpy keeps to the ways of x86-64-v2.
NUMPY_WITHOUT_AVX2 = "NPY_DISABLE_CPU_FEATURES=X86_V3"

Emulate = Callable[[str], None]

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the promise is for x86-64 processors"),
    pytest.mark.skipif(
        shutil.which(QEMU) is None, reason=f"needs {QEMU}: on Debian and Ubuntu `apt-get install qemu-user-static`"
    ),
]


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Emulate:
    """A function that lets each Python that is started from now on run on the processor it names."""
    python = sys.executable

    def on(processor: str) -> None:
        program = tmp_path / f"python on {processor}"
        program.write_text(
            f'#!/bin/sh\nexport {NUMPY_WITHOUT_AVX2}\nexec {QEMU} -cpu {processor} "{python}" "$@"\n', encoding="utf-8"
        )
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return on


def train_and_score(corpus_text: str, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    return trial.run(corpus_text[:CHARACTERS], folder, steps=STEPS)


@pytest.fixture(scope="module")
def natively(corpus_text: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What comes out on the real processor."""
    return train_and_score(corpus_text, tmp_path_factory.mktemp("native") / "trial")


@pytest.mark.parametrize("processor", PROCESSORS)
def test_training_scores_and_texts_are_the_same_on(
    processor: str, natively: dict[str, Any], corpus_text: str, tmp_path: Path, emulated: Emulate
) -> None:
    emulated(processor)
    found = train_and_score(corpus_text, tmp_path / "trial")
    assert found == natively
    assert len(found["curves"]["attention"]) == 2
    assert found["curves"]["attention"][1]["val_loss"] < found["curves"]["attention"][0]["val_loss"]


def test_without_the_pins_processors_differ(corpus_text: str, tmp_path: Path, emulated: Emulate) -> None:
    """The pins do it, and the emulation is one: with AVX-512 or another maker, oneMKL takes other ways."""

    def train(folder: Path) -> str:
        folder.mkdir()
        return trial.train(corpus_text[:1000], folder, trial.ATTENTION, numerics="native", steps=2)

    here = train(tmp_path / "here")
    assert train(tmp_path / "once more") == here
    is_intel = "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    emulated("EPYC" if is_intel else "Haswell")
    assert train(tmp_path / "elsewhere") != here


# What the stage evaluate does with scores, and then the stage plot.
SUMMARISE_AND_PLOT = """
import json, runpy, sys
from charlm.comparison import by_character, by_position, summarise
runs, counts = json.loads(sys.argv[1])
metrics = summarise(runs, counts, block_length=1000, resamples=2000, bootstrap_seed=1)
print(json.dumps([metrics, by_position(runs), by_character(runs, "abc")]))
runpy.run_module("stages.plot", run_name="__main__")
"""

# With many digits.
SCORES = {
    model: [
        {
            "parameters": 1,
            "train_loss": loss,
            "val_loss": loss + seed / 70,
            "val_loss_full": loss + seed / 71,
            "val_accuracy": 1 / loss,
            "train_tokens": 9000,
            "val_tokens": 90,
            "breakdown": {
                "block_sums": [loss * (10 + seed / 3 + i % 7 / 11) for i in range(113)],
                "block_counts": [10] * 113,
                "position_sums": [loss * i / 3 for i in range(1, 33)],
                "position_counts": [7] * 32,
                "token_sums": [loss, loss / 3, loss / 7],
                "token_counts": [3, 7, 11],
            },
        }
        for seed in (1, 2, 3)
    ]
    for model, loss in (("bigram", 2.4556543), ("attention", 2.3741609))
}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_metrics_pictures_and_report_are_the_same_on(processor: str, tmp_path: Path, emulated: Emulate) -> None:
    here = summarise_and_plot(tmp_path / "here")
    emulated(processor)
    assert summarise_and_plot(tmp_path / "elsewhere") == here


def summarise_and_plot(folder: Path) -> tuple[str, dict[str, str]]:
    """Return what becomes of the scores, and the hashes of all that the stage plot makes of the committed results."""
    shutil.copytree(ROOT / "reports", folder / "reports")
    for old in (*(folder / paths.FIGURES).iterdir(), folder / paths.REPORT, folder / paths.HTML_REPORT):
        old.unlink()
    (folder / paths.PARAMS).write_text("plot:\n  width: 8\n  height: 4.5\n  dpi: 50\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SUMMARISE_AND_PLOT, json.dumps([SCORES, METRICS["counts"]])],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    written = [*(folder / paths.FIGURES).iterdir(), folder / paths.REPORT, folder / paths.HTML_REPORT]
    return done.stdout, {path.name: sha256(path) for path in written}
