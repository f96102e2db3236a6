"""Kill trainings until one survives, and compare what comes out: `make stress` (N=200 kills unless told otherwise).

Real processes under the real DVC: a stage, a worker, DVC or the whole tree dies by SIGKILL, at a random moment or
in the middle of a save, until `dvc repro` completes. Then every byte must be that of a run that nobody disturbed.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.killing import Death, Running, arm, children, mend_dvc, start
from tests.pipeline.repository import CHARACTERS, ROOT, Repository, make

MODELS = ("bigram", "attention")
SEEDS = ("1", "2", "3")
LANES = 2  # repositories at a time: a training mostly waits for one core that imports torch


def results(repository: Repository, model: str) -> dict[str, bytes]:
    """Return the bytes that a training leaves behind."""
    files = [
        repository.path / "dvc.lock",
        *sorted((repository.path / "checkpoints" / model).glob("*")),
        *sorted((repository.path / "reports/curves").glob(f"*{model}.csv*")),  # and what a killed stage left of it
    ]
    return {str(file.relative_to(repository.path)): file.read_bytes() for file in files}


def forget_results(repository: Repository) -> None:
    """Bring the repository to where nothing has been trained, as far as DVC and Git know."""
    for folder in ("checkpoints", "reports/curves", ".dvc/cache/runs"):
        shutil.rmtree(repository.path / folder, ignore_errors=True)
    repository.run("git", "checkout", "--quiet", "dvc.lock")


# In whose hands each is: a worker saves states and checkpoints, the stage writes the curves and removes the states.
# The number is of how many such moments a worker has some, of all seeds: they take turns in two workers, or in one.
BY_WORKER = (
    ("open", r"seed-\d\.tmp w ", 7),
    ("os.rename", r"seed-\d\.older -1", 5),
    ("os.rename", r"seed-\d\.state -1", 7),
    ("os.rename", r"seed-\d\.safetensors -1", 1),
)
BY_STAGE = (("os.rename", r"{model}\.csv -1", 1), ("shutil.rmtree", r"\.runs/{model}", 1))
ABOVE_WORKER = {"worker": "self", "stage": "parent", "dvc": "grandparent", "tree": "group"}
ABOVE_STAGE = {"stage": "self", "dvc": "parent", "tree": "group"}

Undisturbed = tuple[dict[str, bytes], float]  # what a training leaves behind, and the seconds it took


def train(repository: Repository, model: str) -> Undisturbed:
    """Train without any disturbance, and forget it."""
    began = time.monotonic()
    repository.run("dvc", "repro", f"train_{model}")
    seconds = time.monotonic() - began
    found = results(repository, model)
    forget_results(repository)
    return found, seconds


class Tally:
    """What happened, in all lanes."""

    def __init__(self, wanted: int, say: Callable[[str], None]) -> None:
        self.wanted = wanted
        self.victims: Counter[str] = Counter()
        self.trainings = self.differing = self.in_a_save = self.mended = 0
        self._say = say
        self._lock = threading.Lock()

    @property
    def kills(self) -> int:
        return self.victims.total()

    def killed(self, victim: str, *, in_a_save: bool) -> None:
        with self._lock:
            self.victims[victim] += 1
            self.in_a_save += in_a_save
            if self.kills % 20 == 0:
                self._say(f"{self.kills} kills, {self.trainings} trainings completed, {self.differing} differing")

    def completed(self, differing: list[str]) -> None:
        with self._lock:
            self.trainings += 1
            self.differing += bool(differing)
            if differing:
                self._say(f"differing: {', '.join(differing)}")

    def dvc_mended(self) -> None:
        with self._lock:
            self.mended += 1

    def __str__(self) -> str:
        who = ", ".join(f"{name} {count}" for name, count in sorted(self.victims.items()))
        return (
            f"{self.kills} kills survived, {self.differing} differing\n"
            f"({self.trainings} trainings completed; killed: {who}; {self.in_a_save} of them in the middle of a save; "
            f"files that DVC had half written: {self.mended})"
        )


@dataclass
class Lane:
    """One repository, in which one training after the other is killed until it completes."""

    repository: Repository
    undisturbed: dict[str, Undisturbed]
    dice: random.Random
    tally: Tally

    def drive(self) -> None:
        """Go on until there are enough kills in all lanes, and the last training has completed."""
        while self.tally.kills < self.tally.wanted:
            model = self.dice.choice(list(self.undisturbed))
            expected, seconds = self.undisturbed[model]
            self.kill_until_it_completes(model, seconds)
            found = results(self.repository, model)
            self.tally.completed([name for name in expected | found if expected.get(name) != found.get(name)])
            forget_results(self.repository)

    def kill_until_it_completes(self, model: str, seconds: float) -> None:
        while True:
            in_a_save = self.dice.random() < 0.4
            if self.tally.kills >= self.tally.wanted:
                running, victim = self.start(model), None
            elif in_a_save:
                running, victim = self.kill_in_a_save(model)
            else:
                running, victim = self.kill_sometime(model, seconds)
            status, said = running.wait()
            assert "not used" not in said, f"no kill leaves a state that is refused, but:\n{said}"
            if status == 0:
                return
            if mend_dvc(self.repository, said):
                self.tally.dvc_mended()
            else:
                assert victim, f"nobody was killed, but:\n{said}"
                self.tally.killed(victim, in_a_save=in_a_save)

    def start(self, model: str, death: Death | None = None) -> Running:
        self.repository.environment["CHARLM_JOBS"] = self.dice.choice("12")
        return start(self.repository, "dvc", "repro", f"train_{model}", death=death)

    def kill_in_a_save(self, model: str) -> tuple[Running, str]:
        by_worker = self.dice.random() < 0.75
        event, pattern, times = self.dice.choice(BY_WORKER if by_worker else BY_STAGE)
        victims = ABOVE_WORKER if by_worker else ABOVE_STAGE
        victim = self.dice.choice(list(victims))
        if not by_worker:
            pattern = pattern.format(model=model)
        return self.start(model, Death(victims[victim], event, pattern, self.dice.randint(1, times))), victim

    def kill_sometime(self, model: str, seconds: float) -> tuple[Running, str | None]:
        """Wait for a random time, and kill what there is to be killed then."""
        running = self.start(model)
        victim = self.dice.choice(["dvc", "stage", "worker", "tree"])
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(self.dice.uniform(0.2, seconds))
        dvc = running.process.pid
        stages = children(dvc)
        workers = [worker for stage in stages for worker in children(stage)]
        living = {"dvc": [dvc], "tree": [-dvc], "stage": stages, "worker": workers}[victim]
        if running.process.returncode is not None or not living:
            return running, None
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(self.dice.choice(living), signal.SIGKILL)
        return running, victim


def stress(
    wanted: int, models: Sequence[str], seed: int, text: str, scratch: Path, say: Callable[[str], None]
) -> Tally:
    """Kill `wanted` times, and return what came of it.

    Args:
        wanted: how many kills.
        models: whose trainings.
        seed: of the dice. The moments are random all the same, since no two runs take the same time.
        text: what is trained on.
        scratch: an empty folder.
        say: gets lines on how far it has come.
    """
    base = make(scratch / "base", text, scratch / "elsewhere")
    base.set(train__steps="80", train__seeds=f"[{', '.join(SEEDS)}]")
    base.environment["SHELL"] = "/bin/bash"  # it becomes the stage, which so is DVC's child
    base.run("dvc", "repro", "tokenize")
    arm(base)
    base.run("git", "add", "--all")
    base.run("git", "commit", "--quiet", "--message", "What nobody trains yet")
    undisturbed = {model: train(base, model) for model in models}
    tally = Tally(wanted, say)
    lanes = [
        Lane(base.copy(scratch / f"lane {i}"), undisturbed, random.Random(f"{seed} {i}"), tally) for i in range(LANES)
    ]
    with ThreadPoolExecutor(LANES) as threads:
        try:
            for future in [threads.submit(lane.drive) for lane in lanes]:
                future.result()
        finally:
            tally.wanted = 0  # after an error or Ctrl-C: no more kills
    return tally


def main() -> None:
    """Stress the working tree, and exit with status 1 if any training ended with other bytes."""
    parser = argparse.ArgumentParser(prog="make stress", description="Kill trainings, and compare what comes out.")
    parser.add_argument("kills", nargs="?", type=int, default=200, help="how often (make stress N=200)")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    options = parser.parse_args()
    print(f"{options.kills} kills, about {options.kills * 4.5 / 60:.0f} minutes", flush=True)
    text = (ROOT / "data/raw/corpus.txt").read_text(encoding="utf-8")[:CHARACTERS]
    with tempfile.TemporaryDirectory(prefix="charlm-stress-") as scratch:
        tally = stress(options.kills, MODELS, options.seed, text, Path(scratch), lambda line: print(line, flush=True))
    print(tally)
    sys.exit(tally.differing > 0)


if __name__ == "__main__":
    main()
