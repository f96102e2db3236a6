"""Which numbers a report may show, given its results, and other results that a report could be made of."""

import copy
import csv
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.examples import ATTENTION, CHARACTERS, METRICS, PAIRS, POSITIONS, PROVENANCE, SAMPLES

ROOT = Path(__file__).resolve().parent.parent.parent

# What the report says by itself: 95 % intervals, where a distance and an interval begin and end, and how near to its
# floor a bigram is trained enough.
OF_THE_REPORT = {95.0, 0.0, 1.0, 0.02}


def jittered(value: Any, rng: random.Random) -> Any:
    """Return the same structure with each real number a part of itself, and whole numbers and names as they are."""
    match value:
        case dict():
            return {key: jittered(part, rng) for key, part in value.items()}
        case list() | tuple():
            return [jittered(part, rng) for part in value]
        case float():
            return round(value * rng.uniform(0.3, 1), 6)
    return value


def other_results(seed: int) -> dict[str, Any]:
    """The example results with other numbers in all places, that still satisfy what is checked of them."""
    rng = random.Random(seed)
    metrics = jittered(METRICS, rng)
    metrics |= {"tokens": {"train": 987001 + seed, "val": 123017 + seed}, "seeds": 5 + seed, "block_size": 17 + seed}
    metrics["difference"] |= {"block_length": 870 + seed, "resamples": 1900 + seed}
    metrics["floor"]["bigram_train_gap_min"] = 0.001
    for model in metrics["models"].values():
        model["parameters"] += rng.randrange(1, 99)
    characters = [(c, kind, count + rng.randrange(1, 9), jittered(of, rng)) for c, kind, count, of in CHARACTERS]
    pairs = jittered(PAIRS, rng)
    for pair in pairs:
        pair["predictions"]["bigram"]["right"] = pair["predictions"]["bigram"]["left"]
    attention = copy.deepcopy(ATTENTION)
    attention["attention"]["by_distance"] = jittered(ATTENTION["attention"]["by_distance"], rng)
    provenance = jittered(PROVENANCE, rng) | {"corpus_characters": 1115000 + seed, "vocabulary_size": 60 + seed}
    provenance["train"] |= {name: 1000 + 10 * i + seed for i, name in enumerate(PROVENANCE["train"])}
    provenance["train"] |= {"seeds": [700 + 10 * i + seed for i in range(5)]}
    provenance["models"]["attention"]["n_embd"] = 40 + seed
    provenance["evaluate"]["found_pairs"] = 50 + seed
    samples = copy.deepcopy(SAMPLES) | {"length": 300 + seed, "seed": 70 + seed}
    for text in samples["texts"]:
        text["temperature"] += (1 + seed) / 100
    return {
        "metrics": metrics, "samples": samples, "pairs": pairs, "positions": jittered(POSITIONS, rng),
        "characters": characters, "attention": attention, "provenance": provenance,
    }  # fmt: skip


def committed_results() -> dict[str, Any]:
    """The results in Git, read without the program and put as the examples are."""
    read: dict[str, Any] = {
        name: json.loads((ROOT / f"reports/{name}.json").read_text(encoding="utf-8"))
        for name in ("metrics", "samples", "details/pairs", "details/attention", "details/provenance")
    }
    positions: dict[str, list[float]] = {}
    for row in _rows("positions"):
        positions.setdefault(row["model"], []).append(float(row["loss"]))
    characters: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in _rows("characters"):
        key = json.loads(row["character"]), row["class"], int(row["count"])
        characters.setdefault(key, {})[row["model"]] = float(row["loss"])
    return {Path(name).name: content for name, content in read.items()} | {
        "positions": positions,
        "characters": [(*key, losses) for key, losses in characters.items()],
    }


def _rows(name: str) -> list[dict[str, str]]:
    with (ROOT / f"reports/details/{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _numbers(value: Any) -> Iterator[float]:
    match value:
        case dict():
            for part in value.values():
                yield from _numbers(part)
        case list() | tuple():
            for part in value:
                yield from _numbers(part)
        case bool() | None:
            return
        case int() | float():
            yield float(value)


def what_may_stand_there(results: dict[str, Any]) -> set[float]:
    """Return the numbers of the results and, computed here anew, those that follow from them."""
    metrics = results["metrics"]
    allowed = {*_numbers(results), *OF_THE_REPORT}
    for model in metrics["counts"].values():
        if "val_loss" in model:
            allowed |= {model["val_loss"] / math.log(2), math.exp(model["val_loss"])}
    for name in metrics["counts"]:
        if name.startswith("kneser_ney_"):
            allowed.add(float(name.removeprefix("kneser_ney_")))
    for model in metrics["models"].values():
        allowed.add(model["counts_matched"] + 1.0)
    total = sum(count for _, _, count, _ in results["characters"])
    groups: dict[str, list[Any]] = {}
    for row in results["characters"]:
        groups.setdefault(f"kind {row[1]}", []).append(row)
        groups.setdefault(row[0], []).append(row)
    for rows in groups.values():
        count = sum(row[2] for row in rows)
        bigram, attention = (sum(row[2] * row[3][model] for row in rows) / count for model in ("bigram", "attention"))
        allowed |= {count / total, bigram, attention, attention - bigram, count / total * (attention - bigram)}
    allowed |= {float(distance) for distance in range(5)}
    return allowed


def as_written(text: str, allowed: set[float]) -> bool:
    """Tell whether the number that is written so is one of the allowed ones, rounded unless it is a whole one."""
    text = text.replace(",", "").lstrip("+-")
    digits = len(text.rstrip("%").partition(".")[2])
    value = float(text.rstrip("%"))
    if text.isdecimal():
        return value in allowed
    scale = 100 if text.endswith("%") else 1
    return any(f"{abs(number) * scale:.{digits}f}" == f"{value:.{digits}f}" for number in allowed)
