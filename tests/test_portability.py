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
from tests.examples import METRICS, SAMPLES
from tools import trial

ROOT = Path(__file__).resolve().parent.parent
QEMU = "qemu-x86_64-static"
PROCESSORS = ("Haswell", "EPYC")  # the oldest with x86-64-v3 of the two makers, as `qemu-x86_64-static -cpu help` says
CHARACTERS = 20_000
STEPS = 40

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
        program.write_text(f'#!/bin/sh\nexec {QEMU} -cpu {processor} "{python}" "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return on


def train_and_score(corpus_text: str, folder: Path, **options: Any) -> dict[str, Any]:
    folder.mkdir()
    return trial.run(corpus_text[:CHARACTERS], folder, steps=STEPS, **options)


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
    only = {"numerics": "native", "recipes": [trial.ATTENTION]}
    here = train_and_score(corpus_text, tmp_path / "here", **only)
    is_intel = "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    emulated("EPYC" if is_intel else "Haswell")
    elsewhere = train_and_score(corpus_text, tmp_path / "elsewhere", **only)
    assert elsewhere["checkpoints"] != here["checkpoints"]


# The rest of the stage evaluate, and the whole of the stage plot.
SUMMARISE_AND_PLOT = """
import json, sys
import stages.plot
from charlm import paths
from charlm.comparison import summarise
from charlm.files import write_json
write_json(paths.METRICS, summarise(**json.loads(sys.argv[1])))
stages.plot.main()
"""


@pytest.mark.parametrize("processor", PROCESSORS)
def test_metrics_picture_and_report_are_the_same_on(processor: str, tmp_path: Path, emulated: Emulate) -> None:
    here = summarise_and_plot(tmp_path / "here")
    emulated(processor)
    assert summarise_and_plot(tmp_path / "elsewhere") == here


def summarise_and_plot(folder: Path) -> dict[str, str]:
    """Make metrics, picture and report of made-up scores and curves, and return their hashes."""
    (folder / "reports/curves").mkdir(parents=True)
    (folder / paths.PARAMS).write_text("plot:\n  width: 8\n  height: 4.5\n  dpi: 100\n", encoding="utf-8")
    (folder / paths.SAMPLES).write_text(json.dumps(SAMPLES), encoding="utf-8")
    for model, lead in (("bigram", 0.0), ("attention", 0.1)):
        rows = [
            f"{seed},{step},{2.4 + 200 / (100 + step) - lead + seed / 70:.6f},{2.5 + 200 / (100 + step) - lead:.6f}"
            for seed in (1, 2, 3)
            for step in range(0, 1001, 50)
        ]
        (folder / paths.curve(model)).write_text("\n".join(["seed,step,train_loss,val_loss", *rows, ""]))
    tokens = {"train_tokens": 1003853, "val_tokens": 111539}
    scores = {
        model: [
            {"parameters": 1, "train_loss": loss, "val_loss": loss + seed / 70, "val_accuracy": 1 / loss} | tokens
            for seed in (1, 2, 3)
        ]
        for model, loss in (("bigram", 2.4556543), ("attention", 2.3741609))
    }
    subprocess.run(
        [sys.executable, "-c", SUMMARISE_AND_PLOT, json.dumps({"runs": scores, "counts": METRICS["counts"]})],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        check=True,
        capture_output=True,
    )
    return {str(path): sha256(folder / path) for path in (paths.METRICS, paths.LOSS_CURVES, paths.REPORT)}
