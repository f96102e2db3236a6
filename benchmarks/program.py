"""What the program is measured by: its own functions, called as its pipeline calls them.

Called through `benchmarks.probe`; `benchmarks.plain` has the same for the plain loop.
"""

from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks import work
from charlm import paths, sampling, tokens
from charlm.device import settle
from charlm.evaluation import score
from charlm.models.registry import model_class
from charlm.one_evaluation import score_kneser_ney, score_tables
from charlm.one_run import train_one
from charlm.restoring import restore
from charlm.splits import save_tokens
from charlm.tokens import consecutive_windows
from charlm.vocabulary import Vocabulary

_WARM_UP = 20  # steps; from them it is known how many fill the time


def training(*, model: str, numerics: str, text_folder: str, seconds: float, clock: str) -> dict[str, float]:
    """Train for about so many seconds on the train tokens in `text_folder`; return `speed`, in steps per second.

    It goes the whole way of a run, but for the validation text, cut to a single window: what is measured is steps.
    """
    own = work.Sizes()
    with TemporaryDirectory() as scratch, chdir(scratch):
        link_tokens(Path(text_folder), own.block_size)
        settle("cpu", numerics)
        few = timed_run(model, numerics, own, _WARM_UP, clock)
        return {"speed": timed_run(model, numerics, own, max(_WARM_UP, int(few * seconds)), clock)}


def cost(
    *, model: str, numerics: str, text_folder: str, seconds: float, clock: str, sizes: Mapping[str, int]
) -> dict[str, float]:
    """Train as `training` does, in a model of these sizes.

    Returns:
        `step`, the seconds that a step more takes: what a run takes besides, such as to keep its state, is as much in
        a long run as in a short one. `idle`, the anonymous memory in MB before there is a model.
    """
    own = work.Sizes(**sizes)
    with TemporaryDirectory() as scratch, chdir(scratch):
        link_tokens(Path(text_folder), own.block_size)
        settle("cpu", numerics)
        idle = _anonymous_megabytes()
        timed_run(model, numerics, own, _WARM_UP, clock)
        short = _WARM_UP / timed_run(model, numerics, own, _WARM_UP, clock)
        steps = max(3 * _WARM_UP, int(seconds / short * _WARM_UP))
        long = steps / timed_run(model, numerics, own, steps, clock)
        return {"step": (long - short) / (steps - _WARM_UP), "idle": idle}


def timed_run(model: str, numerics: str, sizes: work.Sizes, steps: int, clock: str) -> float:
    """Train in the current folder, as a worker of the pipeline does; return the steps per second."""
    times: list[float] = []
    train(model, numerics, sizes, steps, eval_interval=steps, on_point=lambda: times.append(work.CLOCKS[clock]()))
    return steps / (times[-1] - times[0])


def train(
    model: str,
    numerics: str,
    sizes: work.Sizes,
    steps: int,
    *,
    eval_interval: int,
    on_point: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Train in the current folder, as a worker of the pipeline does; return the loss curve.

    `on_point` is called when a point of the curve is measured and the state of then is kept.
    """
    with TemporaryDirectory() as states:
        curve = train_one(
            model=work.MODELS[model],
            shape=work.shape(model, sizes),
            learning_rate=work.LEARNING_RATES[model],
            seed=work.SEED,
            corpus_sha256="",
            budget={
                "batch_size": sizes.batch_size,
                "block_size": sizes.block_size,
                "steps": steps,
                "eval_interval": eval_interval,
            },
            compute={"device": "cpu", "numerics": numerics},
            checkpoint=str(paths.checkpoint(model, work.SEED)),
            state=f"{states}/state",
            tell=lambda event: on_point() if "point" in event else None,
        )
        return curve or []  # it takes no turns, so there is one


def checkpoint(*, model: str, numerics: str, steps: int) -> None:
    """Train a model in the current folder, whose checkpoint other measurements use."""
    train(model, numerics, work.Sizes(), steps, eval_interval=steps)


def validation(*, model: str, numerics: str, seconds: float, clock: str) -> dict[str, float]:
    """Score the whole validation text in the current folder; return the `loss` and the `time` it takes."""
    now = work.CLOCKS[clock]
    device = settle("cpu", numerics)
    network, _ = restore(paths.checkpoint(model, work.SEED))
    val = tokens.load(paths.VAL_TOKENS)
    found = score(network, consecutive_windows(val, network.block_size), device)
    times: list[float] = []
    while sum(times) < seconds:
        began = now()
        score(network, consecutive_windows(val, network.block_size), device)
        times.append(now() - began)
    return {"loss": found.loss, "time": sum(times) / len(times)}


def generation(*, model: str, numerics: str, clock: str) -> dict[str, float]:
    """Generate the texts from the checkpoint in the current folder; return the characters per second."""
    now = work.CLOCKS[clock]
    settle("cpu", numerics)
    network, vocabulary = restore(paths.checkpoint(model, work.SEED))
    prompt = torch.from_numpy(vocabulary.encode("\n").astype("int64"))
    began = now()
    steps = list(
        sampling.generate_together(
            network, prompt, length=work.TEXT_LENGTH, seed=work.SEED, choice=sampling.Choice(temperature=1.0)
        )
    )
    seconds = now() - began
    if {len(tokens) for tokens in steps} != {work.TEXTS}:
        raise RuntimeError(f"{len(steps[0])} texts came out, and the plain loop makes {work.TEXTS}")
    return {"speed": work.TEXTS * work.TEXT_LENGTH / seconds}


def count_models(*, longest: int, numerics: str, clock: str) -> dict[str, float]:
    """Fit and score the closed-form models in the current folder; return the seconds."""
    now = work.CLOCKS[clock]
    how: dict[str, Any] = {"block_size": work.BLOCK_SIZE, "compute": {"device": "cpu", "numerics": numerics}}
    began = now()
    score_tables(**how, tell=lambda line: None)
    score_kneser_ney(contexts=range(1, longest + 1), **how, tell=lambda line: None)
    return {"time": now() - began}


def random_tokens(*, vocab_size: int, length: int, numerics: str) -> None:
    """Write token files of drawn characters into the current folder: the n-th likeliest about as 1 / n."""
    ranks = np.arange(vocab_size)
    shares = 1 / (ranks + 10)
    drawn = np.random.default_rng(1).choice(vocab_size, size=length, p=shares / shares.sum())
    vocabulary = Vocabulary([chr(0x4E00 + rank) for rank in ranks])
    vocabulary.save(paths.VOCABULARY)
    save_tokens(paths.TRAIN_TOKENS, drawn.astype(vocabulary.dtype))
    save_tokens(paths.VAL_TOKENS, drawn[: length // 10].astype(vocabulary.dtype))


def new_model(model: str, vocab_size: int) -> Any:
    """Return a fresh model of the program."""
    torch.manual_seed(work.SEED)
    return model_class(model)(vocab_size=vocab_size, block_size=work.BLOCK_SIZE, **work.shape(model, work.Sizes()))


def link_tokens(folder: Path, block_size: int) -> None:
    """Let the current folder have the tokens of `folder`, and one window of validation."""
    paths.TRAIN_TOKENS.parent.mkdir(parents=True)
    for path in (paths.TRAIN_TOKENS, paths.VOCABULARY):
        path.symlink_to(folder.resolve() / path)
    save_tokens(paths.VAL_TOKENS, np.array(tokens.load(folder / paths.VAL_TOKENS)[: block_size + 1]))


def _anonymous_megabytes() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon:")).split()[1]) * 1024 / 1e6
