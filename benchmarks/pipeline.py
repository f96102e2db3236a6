"""The whole pipeline: from nothing, and with nothing to do."""

import itertools
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import PLAIN, ROOT, cores, run
from benchmarks.item import Item, Pair
from benchmarks.scene import Scene
from benchmarks.table import Goal, Line
from charlm import corpus, paths
from charlm.params import load
from charlm.settings import Train
from stages.train_attention import Attention
from stages.train_bigram import Bigram

_CORES = 2
_NO_OPS = 3  # of each kind in a round
_NOT_COPIED = ("reports/", "tests/", "dvc.lock")  # what came out before, and what no stage reads
_EMPTY_STAGES = 6
_DVC = (sys.executable, "-m", "dvc")
_REPRO = (*_DVC, "repro")


def _measure_cold(scene: Scene) -> list[Pair]:
    """Run the pipeline in a scratch copy without cache, and then both plain scripts, one after the other."""
    train = load(Train, ROOT / paths.PARAMS)
    on = scene.cores[:_CORES]
    with TemporaryDirectory(dir=scene.scratch) as scratch:
        folder = Path(scratch) / "copy"
        _copy(folder)
        ours = run(_REPRO, environment=_dvc_environment(scene), on=on, folder=folder).seconds
    options = {
        "steps": train.steps,
        "eval-interval": train.eval_interval,
        "batch-size": train.batch_size,
        "block-size": train.block_size,
        "n-embd": load(Attention, ROOT / paths.PARAMS).n_embd,
    }
    arguments = list(itertools.chain.from_iterable((f"--{name}", str(value)) for name, value in options.items()))
    rates = {
        "bigram": load(Bigram, ROOT / paths.PARAMS).learning_rate,
        "attention": load(Attention, ROOT / paths.PARAMS).learning_rate,
    }
    scripts = [
        [sys.executable, "-m", "benchmarks.reference", model, str(scene.text), f"--learning-rate={rate}", *arguments]
        for model, rate in rates.items()
    ]
    return [(ours, sum(run(script, environment=PLAIN, on=on).seconds for script in scripts))]


def _measure_no_op(scene: Scene) -> list[Pair]:
    """Let `dvc repro` find that there is nothing to do, in the pipeline and in one of empty stages."""
    ours, theirs = scene.scratch / "no-op", scene.scratch / "empty"
    environment = _dvc_environment(scene)
    on = scene.cores[-1:]
    if not ours.exists():
        _copy(ours)
        _shorten(ours / paths.PARAMS)
        _empty_pipeline(theirs, environment)
        for folder in (ours, theirs):
            run(_REPRO, environment=environment, on=scene.cores, folder=folder)
            run(_REPRO, environment=environment, on=on, folder=folder)
    seconds = {ours: 0.0, theirs: 0.0}
    for folder in [ours, theirs] * _NO_OPS:
        ended = run(_REPRO, environment=environment, on=on, folder=folder)
        if "up to date" not in ended.output:
            raise RuntimeError(f"there was something to do in {folder}:\n{ended.output}")
        seconds[folder] += ended.seconds / _NO_OPS
    return [(seconds[ours], seconds[theirs])]


def _copy(folder: Path) -> None:
    """Make a Git repository of this working tree's files in which the pipeline has never run."""
    for name in _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and not name.startswith(_NOT_COPIED) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    _git(folder, "init", "--quiet")


def _empty_pipeline(folder: Path, environment: dict[str, str]) -> None:
    """Make a pipeline of stages that copy an empty file, each what the one before it made."""
    folder.mkdir()
    _git(folder, "init", "--quiet")
    run([*_DVC, "init", "--quiet"], environment=environment, on=cores(), folder=folder)
    shutil.copy(ROOT / ".dvc/config", folder / ".dvc/config")
    (folder / "0").touch()
    stages = [
        f"  s{n}:\n    cmd: cp {n} {n + 1}\n    deps: ['{n}']\n    outs: ['{n + 1}']\n" for n in range(_EMPTY_STAGES)
    ]
    (folder / "dvc.yaml").write_text("stages:\n" + "".join(stages), encoding="utf-8")


def _shorten(params: Path) -> None:
    """Train for a moment only: how long it took does not show when there is nothing to do."""
    text = params.read_text(encoding="utf-8")
    steps = load(Train, params).steps
    params.write_text(text.replace(f"  steps: {steps}\n", "  steps: 20\n", 1), encoding="utf-8")


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout


def _dvc_environment(scene: Scene) -> dict[str, str]:
    """Return variables that keep DVC to the scratch folder, and give it the text."""
    own = scene.scratch / "dvc"
    own.mkdir(exist_ok=True)
    names = ("DVC_GLOBAL_CONFIG_DIR", "DVC_SITE_CACHE_DIR", "DVC_SYSTEM_CONFIG_DIR")
    return dict.fromkeys(names, str(own)) | {corpus.LOCAL_COPY: str(scene.text)}


ITEMS = (
    Item(
        "repro",
        (
            Line(
                f"cold `dvc repro` on {_CORES} cores, against the plain scripts of both models, "
                "one after the other, with one seed each",
                "s",
                Goal(1, at_least=False),
            ),
        ),
        _measure_cold,
        seconds=110,
        rounds=3,
    ),
    Item(
        "no-op",
        (
            Line(
                f"`dvc repro` with nothing to do, against {_EMPTY_STAGES} stages that copy an empty file",
                "s",
                Goal(1.15, at_least=False),
            ),
        ),
        _measure_no_op,
        seconds=8,
    ),
)
