"""Ways in which a repository does not fit together, and what `make check` says of each; in the current folder."""

import hashlib
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.pipeline.repository import STAGES, set_parameter

METRICS = "reports/metrics.json"
CURVE = "reports/curves/bigram.csv"


def add(path: str) -> None:
    with Path(path).open("ab") as file:
        file.write(b"\n")


def replace(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


def replace_and_lock(path: str, old: str, new: str) -> None:
    """Change a result as if the pipeline had made it so."""
    before, size_before = md5(path), Path(path).stat().st_size
    replace(path, old, new)
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    as_made = f"md5: {before}\n      size: {size_before}"
    assert as_made in lock
    now = f"md5: {md5(path)}\n      size: {Path(path).stat().st_size}"
    Path("dvc.lock").write_text(lock.replace(as_made, now), encoding="utf-8")


def md5(path: str) -> str:
    return hashlib.md5(Path(path).read_bytes(), usedforsecurity=False).hexdigest()


def forget(begin: str, end: str | None = None) -> None:
    """Take a part out of dvc.lock: from the line `begin` to the one before the next `end`, or the last."""
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    first = lock.index(begin)
    rest = lock[lock.index(end, first) :] if end else ""
    Path("dvc.lock").write_text(lock[:first] + rest, encoding="utf-8")


def change_hash_read() -> None:
    """Let train_bigram have read other tokens than those that tokenize made."""
    lock = Path("dvc.lock").read_text(encoding="utf-8")
    head, tail = lock.split("  train_bigram:\n")
    before = tail[tail.index("path: data/tokens/val.npy") :].splitlines()[2]
    Path("dvc.lock").write_text(head + "  train_bigram:\n" + tail.replace(before, f"      md5: {'a' * 32}", 1))


def take_out_of_git(path: str) -> None:
    subprocess.run(["git", "rm", "--quiet", "--cached", path], check=True)


USED = "is not the file that was used; run `dvc repro`"
CAME_OUT = "is not the file that dvc.lock says came out; run `dvc repro`"

FAULTS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "code": (partial(add, "src/charlm/report/content.py"), [f"plot: src/charlm/report/content.py {USED}"]),
    "code of several stages": (
        partial(add, "src/charlm/tokens.py"),
        [f"{stage}: src/charlm/tokens.py {USED}" for stage in STAGES if stage.startswith(("train_", "evaluate"))],
    ),
    "missing code": (
        lambda: Path("src/charlm/figures/gains.py").unlink(),
        ["plot: src/charlm/figures/gains.py is missing; run `dvc repro`"],
    ),
    "code that Git lacks": (
        partial(take_out_of_git, "stages/plot.py"),
        ["plot: stages/plot.py is not in Git, so a clone lacks it; `git add` it"],
    ),
    "a parameter": (
        partial(set_parameter, Path("params.yaml"), "attention.n_embd", "16"),
        ["train_attention: attention in params.yaml is not the value that was used; run `dvc repro`"],
    ),
    "a command": (
        partial(replace, "dvc.yaml", "exec python -m stages.plot", "exec python -I -m stages.plot"),
        ["plot: cmd in dvc.yaml is not the command that ran; run `dvc repro`"],
    ),
    "a dependency taken from dvc.yaml": (  # `dvc status` does not see it
        partial(replace, "dvc.yaml", "      - src/charlm/transport.py\n", ""),
        ["download: src/charlm/transport.py is a dependency in dvc.lock and no longer in dvc.yaml; run `dvc repro`"],
    ),
    "a dependency put into dvc.yaml": (
        partial(replace, "dvc.yaml", "    deps:\n", "    deps:\n      - pyproject.toml\n"),
        ["download: pyproject.toml is a dependency in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "a parameter put into dvc.yaml": (
        partial(replace, "dvc.yaml", "      - plot\n", "      - plot\n      - tokenize\n"),
        ["plot: tokenize is a parameter in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "an edited table": (partial(replace, CURVE, "4.", "3."), [f"train_bigram: {CURVE} {CAME_OUT}"]),
    "edited metrics": (partial(replace, METRICS, "2.", "1."), [f"evaluate: {METRICS} {CAME_OUT}"]),
    "an edited picture": (
        partial(add, "reports/figures/loss_curves.png"),
        [f"plot: reports/figures {CAME_OUT}"],
    ),
    "an edited report": (partial(add, "reports/report.md"), [f"plot: reports/report.md {CAME_OUT}"]),
    "a missing report": (
        lambda: Path("reports/report.md").unlink(),
        ["plot: reports/report.md is missing; run `dvc repro`"],
    ),
    "a report that Git lacks": (
        partial(take_out_of_git, "reports/report.md"),
        ["plot: reports/report.md is not in Git, so a clone lacks it; `git add` it"],
    ),
    "a picture that Git lacks": (
        partial(take_out_of_git, "reports/figures/gains.png"),
        ["plot: reports/figures/gains.png is not in Git, so a clone lacks it; `git add` it"],
    ),
    "no lock file": (
        lambda: Path("dvc.lock").unlink(),
        [f"{stage}: dvc.lock has no entry for this stage; run `dvc repro`" for stage in STAGES],
    ),
    "a stage that the lock lacks": (
        partial(forget, "  plot:\n"),
        ["plot: dvc.lock has no entry for this stage; run `dvc repro`"],
    ),
    "a stage that only the lock has": (
        partial(replace, "dvc.lock", "stages:\n", "stages:\n  older:\n    cmd: none\n"),
        ["older: dvc.yaml has no such stage, and dvc.lock has; remove it there"],
    ),
    "a dependency that the lock lacks": (
        partial(forget, "    - path: src/charlm/corpus.py", "    - path: src/charlm/errors.py"),
        ["download: src/charlm/corpus.py is a dependency in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "an output that the lock lacks": (
        partial(forget, "    - path: reports/figures", "    - path: reports/report.html"),
        ["plot: reports/figures is an output in dvc.yaml and not yet in dvc.lock; run `dvc repro`"],
    ),
    "data read that was never made": (
        change_hash_read,
        [
            "train_bigram: data/tokens/val.npy was read before tokenize made it as dvc.lock says; run `dvc repro`",
        ],
    ),
    "NaN among the metrics": (
        partial(replace_and_lock, METRICS, '"val_bits_sd": 0', '"val_bits_sd": NaN, "x": 0'),
        [f"evaluate: {METRICS} is no good: it holds NaN, which is no number"],
    ),
    "a metric that the report needs": (
        partial(replace_and_lock, METRICS, '"val_perplexity":', '"perplexity":'),
        [f"evaluate: {METRICS} is no good: {METRICS}: models.bigram.val_perplexity: Field required; "],
    ),
    "a spread that the report can do without": (
        partial(replace_and_lock, METRICS, '"val_loss_full_sd":', '"val_loss_full_spread":'),
        [f"evaluate: {METRICS} is no good: it lacks models.bigram.val_loss_full_sd"],
    ),
    "an interval that the report can do without": (
        partial(replace_and_lock, METRICS, '"text_low":', '"text_lowest":'),
        [f"evaluate: {METRICS} is no good: it lacks difference.text_low"],
    ),
    "the distance from the floor": (
        partial(replace_and_lock, METRICS, '"floor":', '"ground":'),
        [f"evaluate: {METRICS} is no good: it lacks floor"],
    ),
    "a count": (
        partial(replace_and_lock, METRICS, '"uniform":', '"none":'),
        [f"evaluate: {METRICS} is no good: it lacks counts.uniform"],
    ),
    "a loss of a count": (
        partial(replace_and_lock, METRICS, '"unigram": {\n      "train_loss":', '"unigram": {\n      "lost":'),
        [f"evaluate: {METRICS} is no good: it lacks counts.unigram.train_loss"],
    ),
    "a model without metrics": (
        partial(replace_and_lock, METRICS, '"attention": {', '"other": {'),
        [f"evaluate: {METRICS} is no good: it has the models bigram, other, and evaluate.models names bigram, att"],
    ),
    "a curve without a loss": (
        partial(replace_and_lock, CURVE, "\n1,20,", "\n1,20,nan"),
        [f"train_bigram: {CURVE} is no good: {CURVE}"],
    ),
    "dvc.yaml that is no YAML": (
        partial(replace, "dvc.yaml", "stages:\n", "stages: [\n"),
        ["dvc: status says: './dvc.yaml' is invalid. While parsing"],
    ),
    "dvc.yaml that is no pipeline": (
        partial(replace, "dvc.yaml", "    cmd: exec python -m stages.plot\n", ""),
        ["dvc: status says: './dvc.yaml' validation failed. "],
    ),
    "params.yaml that is no YAML": (
        partial(replace, "params.yaml", "tokenize:\n", "tokenize: [\n"),
        ["dvc: status says: ERROR: unable to read: 'params.yaml'"],
    ),
    "dvc.lock that is no YAML": (
        partial(replace, "dvc.lock", "stages:\n", "stages: [\n"),
        ["dvc: status says: './dvc.lock' is invalid. While parsing"],
    ),
}
