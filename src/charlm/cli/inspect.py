"""`charlm inspect`: what the checkpoints hold, and what the text looks like."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charlm import characters, files, paths
from charlm.cli import workplace
from charlm.cli.screen import Screen, print_json
from charlm.cli.unknown import offered
from charlm.errors import CharlmError

if TYPE_CHECKING:
    from charlm.checkpoint import Header

_NAMED = 10  # most and least frequent characters


def inspect(*, model: str | None, seed_run: int | None, as_json: bool) -> None:
    """Write what the chosen checkpoints hold, and what the text looks like."""
    settings = workplace.settings()
    names = settings.chosen(model)
    if seed_run is None:
        found = [paths.checkpoint(name, seed) for name in names for seed in workplace.seeds_there(name)]
    else:
        found = [workplace.checkpoint(name, seed_run) for name in names]
    if found:
        workplace.start_torch(settings.compute)  # before numpy is loaded
    corpus = _corpus()
    if not found and corpus is None:
        raise CharlmError(f"neither checkpoints nor data are here; {workplace.REMEDY}")
    document = {"checkpoints": [_checkpoint(path) for path in found], "corpus": corpus}
    if as_json:
        print_json(document)
    else:
        _print(document)


def _checkpoint(path: Path) -> dict[str, Any]:
    from charlm import checkpoint

    header, weights = checkpoint.load(path)
    return {
        "file": str(path),
        "sha256": files.sha256(path),
        "parameters": sum(weight.numel() for weight in weights.values()),
        "weights": {name: list(weight.shape) for name, weight in sorted(weights.items())},
        **_told(header),
    }


def _told(header: "Header") -> dict[str, Any]:
    told = asdict(header)
    return {key: told[key] for key in ("model", "shape", "training", "corpus_sha256", "characters")}


def _corpus() -> dict[str, Any] | None:
    """Return what the text looks like, by its tokens; None when they are not here."""
    if not all(path.is_file() for path in (paths.VOCABULARY, paths.TRAIN_TOKENS, paths.VAL_TOKENS)):
        return None
    import numpy as np

    from charlm import token_files
    from charlm.frequencies import count
    from charlm.vocabulary import Vocabulary

    vocabulary = Vocabulary.load(paths.VOCABULARY)
    counts, sizes = np.zeros(len(vocabulary), dtype=np.int64), {}
    for split, path in (("train", paths.TRAIN_TOKENS), ("validation", paths.VAL_TOKENS)):
        tokens = token_files.load(path)
        sizes[split] = len(tokens)
        try:
            counts += count(tokens, len(vocabulary))
        except ValueError:  # a row longer than the vocabulary
            raise CharlmError(f"{path} has ids beyond {paths.VOCABULARY}; run `dvc repro tokenize`") from None
    order = sorted(range(len(vocabulary)), key=lambda i: (-counts[i], i))
    return {
        "file": str(paths.CORPUS),
        "sha256": files.sha256(paths.CORPUS) if paths.CORPUS.is_file() else None,
        "characters": sum(sizes.values()),
        "distinct": len(vocabulary),
        **sizes,
        "counts": {vocabulary.characters[i]: int(counts[i]) for i in order},
    }


def _print(document: dict[str, Any]) -> None:
    screen = Screen()
    _print_checkpoints(screen, document["checkpoints"], document["corpus"])
    screen.line()
    _print_corpus(screen, document["corpus"])


def _print_checkpoints(screen: Screen, found: Sequence[dict[str, Any]], corpus: dict[str, Any] | None) -> None:
    """Write what runs have in common once, and below it the runs."""
    if not found:
        screen.line(f"checkpoints: none is here; {workplace.REMEDY}")
    said = None
    for run in found:
        how = {key: value for key, value in run["training"].items() if key != "seed"}
        shared = {
            "shape": _listed(run["shape"]),
            "parameters": f"{run['parameters']:,}",
            "vocabulary": f"{len(run['characters']):,} characters{_compared(run['characters'], corpus)}",
            "characters": offered(frozenset(run["characters"])),
            "trained": _listed(how) or "it does not say how",
            "corpus": _text_of(run["corpus_sha256"], corpus),
        }
        if (run["model"], shared) != said:
            said = run["model"], shared
            screen.line(run["model"], bold=True)
            _print_rows(screen, shared)
            shapes = [f"{name} {' x '.join(map(str, shape))}" for name, shape in run["weights"].items()]
            for shape in shapes:
                _print_rows(screen, {"weight": shape})
        _print_rows(screen, {Path(run["file"]).stem: f"SHA-256 {run['sha256']}"})


def _print_corpus(screen: Screen, corpus: dict[str, Any] | None) -> None:
    if corpus is None:
        screen.line(f"corpus: its tokens are not here; {workplace.REMEDY}")
        return
    counts = list(corpus["counts"].items())
    screen.line("corpus", bold=True)
    rows = {
        "file": corpus["file"],
        "SHA-256": corpus["sha256"] or "the text is not here, only its tokens",
        "characters": f"{corpus['characters']:,}, {corpus['distinct']:,} distinct",
        "split": f"{corpus['train']:,} train, {corpus['validation']:,} validation",
        "most frequent": _frequencies(counts[:_NAMED]),
        "least frequent": _frequencies(counts[-1 : -1 - _NAMED : -1]),
    }
    _print_rows(screen, rows)


def _print_rows(screen: Screen, rows: dict[str, str]) -> None:
    for name, value in rows.items():
        screen.line(f"  {name:<14} {value}")


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _compared(known: Sequence[str], corpus: dict[str, Any] | None) -> str:
    if corpus is None:
        return ""
    return ", those of the corpus" if set(known) == set(corpus["counts"]) else ", not those of the corpus"


def _text_of(sha256: str, corpus: dict[str, Any] | None) -> str:
    if not sha256:
        return "it does not say which"
    if corpus is None or corpus["sha256"] is None:
        return f"SHA-256 {sha256}"
    return f"SHA-256 {sha256}, {'the text here' if sha256 == corpus['sha256'] else 'not the text here'}"


def _frequencies(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{characters.name(character)} {count:,}" for character, count in counts)
