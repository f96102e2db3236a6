"""Write the numbers in the documents anew from the results: `make numbers`.

A number there that comes from the results has a comment behind it that says from where, and that no reader sees:

    2.4847<!--models.bigram.val_loss-->

The names are the keys of metrics.json as they are, those of the tuned run behind "tuned.", and what `_computed` adds
from the details. How many digits to show is seen from the number that stands there. The words around the numbers, and
README.md, which has no marks, are for a person to read again: the tests say which of its numbers are old.
"""

import csv
import difflib
import json
import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from charlm import adamw, closed_form, paths
from charlm.comparison import bits
from charlm.console import run
from charlm.details import read_characters
from charlm.errors import CharlmError
from charlm.files import write_text
from charlm.gains import by_kind
from charlm.intervals import CONFIDENCE, t_quantile
from charlm.reading import read_json
from charlm.results import Metrics
from tools.tune import TABLE, Setting, choose, read_outcomes

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.zh.md", "docs/walkthrough.md", "docs/walkthrough.zh.md", "docs/experiments.md")
TUNED = Path("reports/tuning")  # what the tuned run of the pipeline left: metrics.json and provenance.json

MARKED = re.compile(r"(?P<number>−?\d[\d,]*(?:\.\d+)?%?)<!--(?P<name>[^<>]+)-->")
FUNCTIONS: dict[str, Callable[[float], float]] = {"bits of": bits, "perplexity of": math.exp, "minus": lambda x: -x}


def main() -> None:
    """Write the pages whose numbers are old."""
    for name in PAGES:
        page = ROOT / name
        old = page.read_text(encoding="utf-8")
        new = refreshed(old)
        if new != old:
            write_text(page, new)
        print(f"{name}: {'its numbers were old and are' if new != old else 'its numbers are'} those of the results")


def _read_json(path: Path) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def _read_rows(path: Path) -> list[dict[str, str]]:
    with (ROOT / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def flat(tree: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a JSON value, each named by the keys and places that lead to it."""
    if isinstance(tree, int | float):
        yield name, tree
    elif isinstance(tree, dict | list):
        for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from flat(part, f"{name}.{key}" if name else str(key))


def _computed(metrics: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield what is not in metrics.json as it is."""
    made = _read_json(paths.PROVENANCE)
    yield from flat(made, "made")
    yield from {
        "characters.train": metrics["tokens.train"] + 1,
        "characters.val": metrics["tokens.val"] + 1,
        "rows.batch": made["train"]["batch_size"] * made["train"]["block_size"],
        "rows.tables": made["vocabulary_size"] + made["train"]["block_size"],
        "adamw.beta1": adamw._BETAS[0],
        "adamw.beta2": adamw._BETAS[1],
        "adamw.weight_decay": adamw._WEIGHT_DECAY,
        "confidence": CONFIDENCE,
        "t_quantile": t_quantile((1 + CONFIDENCE) / 2, int(metrics["seeds"]) - 1),
    }.items()

    if contexts := closed_form.by_context(read_json(Metrics, ROOT / paths.METRICS)):
        yield "counts.best", min(contexts.values())
        yield "counts.best_context", min(contexts, key=contexts.__getitem__)

    for model in ("bigram", "attention"):
        points = [row for row in _read_rows(paths.curve(model)) if row["step"] == "0"]
        yield f"curves.{model}.first", statistics.fmean(float(row["val_loss"]) for row in points)
        losses = [float(row["loss"]) for row in _read_rows(paths.POSITIONS) if row["model"] == model]
        yield from zip((f"positions.{model}.{place}" for place in ("first", "second")), losses, strict=False)

    for gain in by_kind(read_characters(ROOT / paths.CHARACTERS), "bigram", "attention"):
        found = {"baseline": gain.baseline, "model": gain.model, "part": gain.part, "share": gain.share}
        found["of_whole"] = gain.part / metrics["difference.val_loss"]
        yield from ((f"gains.{gain.name}.{key}", number) for key, number in found.items())

    yield from flat(_read_json(paths.ATTENTION)["attention"]["by_distance"], "distance")

    pairs = _read_json(paths.PAIRS)
    for pair in pairs:
        for model, sides in pair["predictions"].items():
            for side in ("left", "right"):
                for character, share in sides[side]:
                    yield f"pairs.{pair['left']}.{model}.{side}.{'space' if character == ' ' else character}", share
    after_t = next((dict(pair["predictions"]["bigram"]["left"]) for pair in pairs if pair["left"] == "cat"), {})
    if not {"h", " "} <= after_t.keys():
        raise CharlmError(
            f"{paths.PAIRS} has no pair with 'cat' on the left, after which the table expects 'h' or a space; the "
            "documents show it: name it in evaluate.context_pairs and run `dvc repro`"
        )
    for i, temperature in enumerate(made["evaluate"]["temperatures"]):
        yield f"sampling.ratio.{i}", (after_t["h"] / after_t[" "]) ** (1 / temperature)
    likeliest = sorted(after_t.values(), reverse=True)
    yield "sampling.top_2.h", after_t["h"] / sum(likeliest[:2])
    yield "sampling.nucleus", next(n for n in range(1, len(likeliest) + 1) if sum(likeliest[:n]) >= 0.7)


@cache
def values() -> dict[str, float]:
    """Return every number of the results by its name."""
    metrics = dict(flat(_read_json(paths.METRICS)))
    tuned = flat(_read_json(TUNED / "metrics.json"), "tuned")
    return metrics | dict(_computed(metrics)) | dict(tuned)


def value(name: str) -> float:
    """Return what a mark names: "models.bigram.val_loss", or "bits of ..." and the other FUNCTIONS."""
    for function, apply in FUNCTIONS.items():
        if name.startswith(f"{function} "):
            return apply(value(name.removeprefix(f"{function} ")))
    if name not in values():
        near = difflib.get_close_matches(name, values())
        raise CharlmError(
            f"there is no number '{name}' in the results" + (f"; did you mean {' or '.join(near)}?" if near else "")
        )
    return values()[name]


def shown(number: float, like: str) -> str:
    """Write the number with as many digits as `like` has, as a share of a hundred if that is one."""
    digits = len(like.rstrip("%").partition(".")[2])
    return f"{number:,.{digits}{'%' if like.endswith('%') else 'f'}}".replace("-", "−")


def refreshed(text: str) -> str:
    """Return the text with every marked number, and the marked table, as the results have it."""
    text = MARKED.sub(lambda mark: f"{shown(value(mark['name']), mark['number'])}<!--{mark['name']}-->", text)
    return re.sub(r"<!--table-->\n(\n\|.*(?:\n\|.*)*\n)?", lambda _: f"<!--table-->\n\n{_table()}\n", text)


def _table() -> str:
    """Return the committed table of tuning in Markdown: a line for each rate, a column for each model and schedule."""
    tried = read_outcomes(ROOT / TABLE)
    losses = {outcome.setting: outcome.loss for outcome in tried}
    columns = list(dict.fromkeys((setting.model, setting.schedule) for setting in losses))
    rates = list(dict.fromkeys(setting.learning_rate for setting in losses))
    chosen = choose(tried)
    lines = ["| learning rate | " + " | ".join(f"{model}, {schedule}" for model, schedule in columns) + " |"]
    lines.append("|--:|" + "--:|" * len(columns))
    for rate in rates:
        settings = [Setting(*column, rate) for column in columns]
        cells = [f"{losses[setting]:.4f}" for setting in settings]
        cells = [f"**{cell}**" if setting in chosen else cell for cell, setting in zip(cells, settings, strict=True)]
        lines.append(f"| {rate:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    run(main)
