"""A text of 1 GB: tokenizing it, and training on it."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import work
from benchmarks.item import Item, Pair
from benchmarks.scene import Scene, lay_out, tokenize
from benchmarks.table import Goal, Line

_GB, _MB = 10**9, 10**6
_SLICE = 100 * _MB  # that the plain loop encodes
_SECONDS = 2.0

_ON_LARGE = "bigram training on 1 GB, against the program's own on 1 MB"


def _text(scene: Scene, kind: str, size: int) -> Path:
    """Return the file with that text, made when it is first asked for."""
    path = scene.scratch / f"{kind} {size}.txt"
    if not path.exists():
        scene.plain("benchmarks.texts:write", path=str(path), kind=kind, size=size)
    return path


def _measure_tokenizing(scene: Scene, kind: str) -> list[Pair]:
    """Run the stage, from the start of its process to the end, and the plain loop, without the start of its own."""
    with TemporaryDirectory(dir=scene.scratch) as scratch:
        folder = Path(scratch) / "large"
        lay_out(folder, _text(scene, kind, _GB))
        ours = tokenize(folder, scene.cores[-1:])
    theirs = scene.plain("benchmarks.plain:tokenizing", corpus=str(_text(scene, kind, _SLICE)), clock=work.WALL)
    return [(_GB / _MB / ours.seconds, theirs.result["speed"]), (ours.peak, theirs.peak)]


def _measure_training(scene: Scene) -> list[Pair]:
    """Train the bigram table, whose steps are the shortest, on the large text and on a small one of its kind.

    By the wall clock: pages of the large text that memory no longer holds are waited for.
    """
    found = []
    for size in (_GB, _MB):
        folder = scene.scratch / f"tokens {size}"
        if not folder.exists():
            scene.tokenized(folder.name, _text(scene, "ASCII", size))
        found.append(
            scene.program(
                "benchmarks.program:training",
                model="bigram",
                text_folder=str(folder),
                seconds=_SECONDS,
                clock=work.WALL,
            )
        )
    large, small = found
    return [(large.result["speed"], small.result["speed"]), (large.peak_anonymous, small.peak_anonymous)]


def _tokenizing(kind: str, speed: float | None, seconds: float, rounds: int | None = None) -> Item:
    goal = None if speed is None else Goal(speed, at_least=True, by_ratio=False)
    lines = (
        Line(f"tokenize 1 GB of {kind}: speed", "MB/s", goal),
        Line(
            f"tokenize 1 GB of {kind}: peak memory (plain: of 100 MB)", "MB", Goal(400, at_least=False, by_ratio=False)
        ),
    )
    name = f"tokenize-{kind.split(maxsplit=1)[0].lower()}"
    return Item(name, lines, partial(_measure_tokenizing, kind=kind), seconds=seconds, rounds=rounds)


ITEMS = (
    _tokenizing("ASCII", 200, seconds=20),
    _tokenizing("mixed Unicode", 80, seconds=25),
    _tokenizing("shuffled Unicode", None, seconds=35, rounds=2),
    Item(
        "large",
        (
            Line(f"{_ON_LARGE}: speed", "steps/s", Goal(0.95, at_least=True)),
            Line(f"{_ON_LARGE}: memory without page cache", "MB", Goal(1.05, at_least=False)),
        ),
        _measure_training,
        seconds=15,
    ),
)
