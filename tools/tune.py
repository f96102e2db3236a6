"""`python -m tools.tune`: which learning rate and schedule suit each model, without a look at the validation text.

Each model is trained on the first nine tenths of the train text and scored on its last tenth, once per setting and
seed; both models try the same settings. The file with the validation tokens is not opened. The table goes to stdout
and to a file; the last line is the command that runs the pipeline with what did best. Started again after a stop, it
keeps the runs that were done.
"""

import argparse
import csv
import itertools
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter
from tqdm import tqdm

from charlm import numerics, paths, token_files
from charlm.console import run
from charlm.errors import CharlmError
from charlm.files import write_csv
from charlm.lock import exclusive
from charlm.params import load
from charlm.settings import Compute, LearningRate, Train, jobs
from charlm.splits import save_tokens, train_length
from charlm.vocabulary import Vocabulary
from charlm.workers import Task, run_tasks
from stages.train_attention import Attention

TABLE = Path("reports/tuning/settings.csv")
COLUMNS = ("model", "schedule", "learning_rate", "seeds", "loss", "loss_sd")

_MODELS = {
    "bigram": "charlm.models.bigram:BigramLanguageModel",
    "attention": "charlm.models.attention:AttentionLanguageModel",
}
_SCHEDULES = get_args(Train.model_fields["schedule"].annotation)
_RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
_SEEDS = 2
_HELD_OUT = 0.1  # of the train text
_FOLDER = paths.state("tune", 0).parent  # neither in Git nor in DVC


@dataclass(frozen=True)
class Setting:
    """What is tried: a model with a learning rate and how that changes."""

    model: str
    schedule: str
    learning_rate: float

    def __str__(self) -> str:
        return f"{self.model}-{self.schedule}-{self.learning_rate:g}"


@dataclass(frozen=True)
class Outcome:
    """The losses of a setting on the held-out tenth, one per seed, in nats per character."""

    setting: Setting
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.losses)


def main() -> None:
    """Try the settings in the current folder, whose pipeline has made the tokens."""
    parser = argparse.ArgumentParser(prog="python -m tools.tune", description=__doc__)
    parser.add_argument("--rates", type=_rate, nargs="+", default=_RATES, metavar="RATE",
                        help=f"the learning rates to try (default: {' '.join(map(str, _RATES))})")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=_SEEDS, metavar="N",
                        help=f"with the first N of train.seeds (default: {_SEEDS})")  # fmt: skip
    parser.add_argument("--out", type=Path, default=TABLE, help="the file to write (default: %(default)s)")
    arguments = parser.parse_args()

    train = load(Train)
    if not 1 <= arguments.seeds <= len(train.seeds):
        raise CharlmError(f"--seeds is {arguments.seeds}; train.seeds has {len(train.seeds)}, and one is the least")
    rates = sorted(set(arguments.rates))
    settings = [Setting(*each) for each in itertools.product(_MODELS, _SCHEDULES, rates)]
    outcomes = try_all(settings, train.seeds[: arguments.seeds], train, load(Compute))

    rows = list(as_rows(outcomes))
    write_csv(arguments.out, COLUMNS, rows)
    print(",".join(COLUMNS), *(",".join(map(str, row)) for row in rows), sep="\n")
    chosen = choose(outcomes)
    for setting in chosen:
        if len(rates) > 1 and setting.learning_rate in (rates[0], rates[-1]):
            end, further = ("highest", "higher") if setting.learning_rate == rates[-1] else ("lowest", "lower")
            print(f"{setting.model}: the {end} rate did best; try {further} ones too (--rates)", file=sys.stderr)
    print(command(chosen))


def try_all(settings: Sequence[Setting], seeds: Sequence[int], train: Train, compute: Compute) -> list[Outcome]:
    """Train each setting with each seed on the first part of the train text; score it on the rest."""
    shapes: dict[str, dict[str, int]] = {
        "bigram": {},
        "attention": load(Attention).model_dump(exclude={"learning_rate"}),
    }
    ids = _train_tokens()
    vocabulary = Vocabulary.load(paths.VOCABULARY)
    kept = train_length(len(ids), _HELD_OUT, train.block_size)
    runs = list(itertools.product(settings, seeds))
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        exclusive(_FOLDER.with_suffix(".lock"), "tuning") as lock,
        chdir(_FOLDER),
        tqdm(total=len(runs) * train.steps, unit=" steps", disable=None) as bar,
    ):
        # The same places as in the pipeline, in another folder: what is "val" to a run is the held-out part of train.
        vocabulary.save(paths.VOCABULARY)
        save_tokens(paths.TRAIN_TOKENS, ids[:kept])
        save_tokens(paths.VAL_TOKENS, ids[kept:])
        budget = train.model_dump(exclude={"seeds"}) | {"eval_interval": train.steps}
        tasks = [
            Task(
                "charlm.one_run:train_one",
                {
                    "model": _MODELS[setting.model],
                    "shape": shapes[setting.model],
                    "learning_rate": setting.learning_rate,
                    "seed": seed,
                    "corpus_sha256": "",  # these checkpoints are for nobody to inspect
                    "budget": budget | {"schedule": setting.schedule},
                    "compute": compute.model_dump(),
                    "checkpoint": f"{setting}-{seed}.safetensors",
                    "state": f"{setting}-{seed}.state",
                },
            )
            for setting, seed in runs
        ]
        curves = run_tasks(
            tasks,
            jobs=jobs(),
            environment=numerics.environment(compute.numerics),
            on_event=lambda _, event: (bar.update(event.get("steps", 0)), None)[1],
            inherit=[lock],
        )
    losses: dict[Setting, list[float]] = {setting: [] for setting in settings}
    for (setting, _), curve in zip(runs, curves, strict=True):
        losses[setting].append(curve[-1]["val_loss"])
    return [Outcome(setting, tuple(values)) for setting, values in losses.items()]


def choose(outcomes: Iterable[Outcome]) -> list[Setting]:
    """Return each model's best setting under the schedule that serves the models best together: they share it."""
    best: dict[tuple[str, str], Outcome] = {}  # of a schedule and a model
    for outcome in outcomes:
        key = outcome.setting.schedule, outcome.setting.model
        if key not in best or outcome.loss < best[key].loss:
            best[key] = outcome
    schedules = {schedule: None for schedule, _ in best}
    totals = {schedule: sum(best[key].loss for key in best if key[0] == schedule) for schedule in schedules}
    chosen = min(totals, key=totals.__getitem__)
    return [outcome.setting for (schedule, _), outcome in best.items() if schedule == chosen]


def read_outcomes(table: Path) -> list[Outcome]:
    """Return what a table that this program wrote says."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Outcome(Setting(row["model"], row["schedule"], float(row["learning_rate"])), (float(row["loss"]),))
        for row in rows
    ]


def command(chosen: Sequence[Setting]) -> str:
    """Return the command that runs the pipeline with these settings."""
    rates = (f"-S {setting.model}.learning_rate={setting.learning_rate:g}" for setting in chosen)
    return " ".join(["dvc exp run", f"-S train.schedule={chosen[0].schedule}", *rates])


def as_rows(outcomes: Iterable[Outcome]) -> Iterator[tuple[str | float, ...]]:
    """Yield a line of the table for each setting, with COLUMNS."""
    for outcome in outcomes:
        sd = f"{statistics.stdev(outcome.losses):.6f}" if len(outcome.losses) > 1 else ""
        yield *astuple(outcome.setting), len(outcome.losses), f"{outcome.loss:.6f}", sd


def _train_tokens() -> token_files.Tokens:
    """Return the tokens of the train text, and of no other."""
    try:
        return token_files.load(paths.TRAIN_TOKENS)
    except FileNotFoundError:
        raise CharlmError(f"{paths.TRAIN_TOKENS} is not here; run `dvc repro tokenize`") from None


def _rate(text: str) -> float:
    try:
        return TypeAdapter(LearningRate).validate_python(float(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0 and up to 10") from None


if __name__ == "__main__":
    run(main)
