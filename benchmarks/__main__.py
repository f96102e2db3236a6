"""`make bench`: the program and a plain loop at the same work, alternately, by the same clock and on the same cores."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import work
from benchmarks.harness import cores, waited
from benchmarks.item import Item
from benchmarks.items import items
from benchmarks.scale import SECONDS as SCALE_SECONDS
from benchmarks.scale import measure_scale
from benchmarks.scene import Scene, find_text
from benchmarks.table import RESULTS, SCALE, SIDE_BY_SIDE, Figures, shown, side_by_side, write_section
from charlm.console import run
from charlm.errors import CharlmError

_ROUNDS = 5
_INTRODUCTION = """Medians of {rounds} rounds, where the item does not tell another number; the ratio is program over \
plain, round by round. Both run in turns, each in processes of its own, on the same core (cold `dvc repro`: the same \
two), and by the same clock: training, validation, sampling and counts by processor time, to which waiting for a core \
or the disk adds nothing; tokenizing, training on 1 GB and `dvc repro` by the wall clock. Tokenizing counts the start \
of the program's process and the files that it writes, but of the plain loop, which writes none, reading and encoding \
alone. The large texts lie in the page cache as far as memory holds them.

"""
_BUSY = 0.1  # share of the time in which something waits for a core; alone, a benchmark hardly ever does


def main() -> None:
    """Measure what the command line asks for."""
    known = items()
    limits = "".join(f"; of {item.name} at most {item.rounds}" for item in known if item.rounds)
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only",
        metavar="NAME",
        nargs="+",
        help="only the items of these names, or that begin with them; RESULTS.md is left as it is. "
        f"Items: {', '.join(item.name for item in known)}",
    )
    parser.add_argument(
        "--rounds", type=int, default=_ROUNDS, help=f"of each item, {_ROUNDS} unless told otherwise{limits}"
    )
    parser.add_argument("--scale", action="store_true", help="measure instead how cost grows with each size")
    options = parser.parse_args()
    chosen = choose(known, options.only)
    if options.scale and options.only:
        raise CharlmError("--scale measures all sizes; leave out --only")
    if options.rounds < 1:
        raise CharlmError(f"--rounds is {options.rounds}; it wants a whole number of at least 1")
    seconds = SCALE_SECONDS if options.scale else sum(item.seconds * rounds_of(item, options.rounds) for item in chosen)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what it started ends too
    _say(f"About {seconds / 60 + 1:.0f} minutes, in which the machine should have nothing else to do.")
    began, waited_before = time.monotonic(), waited()
    with tempfile.TemporaryDirectory(prefix="charlm-bench-") as scratch:
        scene = Scene(Path(scratch), find_text(), cores())
        if options.scale:
            section, content = SCALE, measure_scale(scene, _progress)
        else:
            check_same(scene)
            figures = [line for item in chosen for line in measure(scene, item, rounds_of(item, options.rounds))]
            table = side_by_side(figures, options.rounds)
            _say("\n" + table)
            section, content = SIDE_BY_SIDE, _INTRODUCTION.format(rounds=options.rounds) + table
    busy = (waited() - waited_before) / (time.monotonic() - began)
    if busy > _BUSY:
        _say(f"Other work was in the way: for {busy:.0%} of the time something waited for a core. Measure again.")
    if options.only:
        return
    if busy > _BUSY:
        _say(f"{RESULTS.name} is left as it was.")
    else:
        write_section(section, content)
        _say(f"Written to {RESULTS.name}.")


def choose(known: Sequence[Item], names: Sequence[str] | None) -> list[Item]:
    """Return the items of the names, or that begin with one of them.

    Raises:
        CharlmError: when a name fits none.
    """
    for name in names or []:
        if not any(item.name.startswith(name) for item in known):
            raise CharlmError(f"there is no item '{name}'; there are {', '.join(item.name for item in known)}")
    return [item for item in known if names is None or item.name.startswith(tuple(names))]


def check_same(scene: Scene) -> None:
    """Exit with status 1 unless both sides' losses agree at each step."""
    for model in work.MODELS:
        for numerics in work.NUMERICS:
            found = scene.program("benchmarks.same:compare", numerics=numerics, model=model, corpus=str(scene.text))
            loss, weight = found.result["loss"], found.result["weight"]
            _say(
                f"{model}, {numerics}: over {work.COMPARED_STEPS} steps the losses differ by at most {loss:.1e} nats, "
                f"and then the weights by {weight:.1e}"
            )
            if not loss <= work.TOLERANCE:
                sys.exit(
                    f"error: more than {work.TOLERANCE:g}; the two do not compute the same, so nothing was measured"
                )


def measure(scene: Scene, item: Item, rounds: int) -> list[Figures]:
    """Measure an item round by round, and return the lines of its table."""
    found = []
    for number in range(1, rounds + 1):
        pairs = item.measure(scene)
        found.append(pairs)
        said = [
            f"{shown(ours)}{'' if theirs is None else f' against {shown(theirs)}'} {line.unit}"
            for line, (ours, theirs) in zip(item.lines, pairs, strict=True)
        ]
        _progress(f"{item.name} {number}/{rounds}: {'; '.join(said)}")
    return [
        Figures(line, tuple(ours for ours, _ in column), tuple(theirs for _, theirs in column))
        for line, column in zip(item.lines, zip(*found, strict=True), strict=True)
    ]


def rounds_of(item: Item, wanted: int) -> int:
    """Return how many rounds of the item to measure, if so many are wanted of each."""
    return wanted if item.rounds is None else min(wanted, item.rounds)


def _say(line: str) -> None:
    print(line, flush=True)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run(main)
