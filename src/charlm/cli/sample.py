"""`charlm sample`: texts that the models write."""

import itertools
import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from charlm.cli import workplace
from charlm.cli.options import BOTH
from charlm.cli.screen import Columns, Screen, print_json
from charlm.cli.unknown import leave_out, named, offered
from charlm.errors import CharlmError

if TYPE_CHECKING:
    from torch import Tensor

    from charlm.evaluations import Evaluate
    from charlm.models.contract import LanguageModel
    from charlm.vocabulary import Vocabulary


log = logging.getLogger(__name__)

WIDEST = 500  # cells; a terminal may claim any number


@dataclass(frozen=True)
class Wish:
    """The options of the command; None where params.yaml decides."""

    model: str | None
    seed_run: int | None
    prompt: str | None
    length: int | None
    temperature: float
    top_k: int | None
    top_p: float
    seed: int | None
    num_samples: int
    stop: str | None
    unknown: str
    as_json: bool


def sample(wish: Wish) -> None:
    """Write the texts that are wished for."""
    if wish.stop == "":
        raise click.BadParameter("it is empty; leave it out to end no text early", param_hint="--stop")
    settings = workplace.settings()
    models = settings.models if wish.model == BOTH else settings.chosen(wish.model or settings.models[-1], BOTH)
    seed_run = settings.seeds[0] if wish.seed_run is None else wish.seed_run
    files = {model: workplace.checkpoint(model, seed_run) for model in models}
    workplace.start_torch(settings.compute)  # and the texts are drawn on the CPU, as those of the report

    from charlm.restoring import restore

    restored = {model: restore(path) for model, path in files.items()}
    known = frozenset.intersection(*(frozenset(vocabulary.characters) for _, vocabulary in restored.values()))
    prompt, unknown = leave_out(settings.evaluate.prompt if wish.prompt is None else wish.prompt, known)
    if unknown and wish.unknown != "skip":
        raise CharlmError(
            f"the prompt holds {named(unknown)}, which the models have never seen; use only "
            f"{offered(known)}, or --unknown skip to leave out what is unknown"
        )
    if unknown:
        log.info("left out of the prompt, since the models have never seen it: %s", named(unknown))
    if never := leave_out(wish.stop or "", known)[1]:
        raise CharlmError(f"--stop holds {named(never)}, which the models never write; use only {offered(known)}")
    writers = [
        _Writer(name, network, vocabulary, prompt, wish, settings.evaluate)
        for name, (network, vocabulary) in restored.items()
    ]
    if wish.as_json:
        print_json(_as_document(writers, wish, seed_run))
    elif len(writers) == 1:
        _stream(writers[0], wish.num_samples)
    else:
        _side_by_side(writers, wish.num_samples)


class _Writer:
    """A model about to continue a prompt."""

    def __init__(
        self,
        name: str,
        network: "LanguageModel",
        vocabulary: "Vocabulary",
        prompt: str,
        wish: Wish,
        defaults: "Evaluate",
    ) -> None:
        from charlm.sampling import TOGETHER, Choice

        self.name = name
        self.prompt = prompt
        self.start = _start(prompt, vocabulary)
        self.length = defaults.length if wish.length is None else wish.length
        self.seed = defaults.sample_seed if wish.seed is None else wish.seed
        self.choice = Choice(wish.temperature, wish.top_k, wish.top_p)
        self.together = TOGETHER
        self._network, self._vocabulary, self._stop = network, vocabulary, wish.stop or ""

    def pieces(self, group: int, wanted: int) -> Iterator[list[str]]:
        """Yield, step by step, what each of the first `wanted` texts of a group goes on with; often nothing."""
        from charlm.sampling import Ending, generate_together

        endings = [Ending(self._stop) for _ in range(wanted)]
        steps = generate_together(
            self._network, self._ids(), length=self.length, seed=self.seed, choice=self.choice, group=group
        )
        for tokens in steps:
            characters = self._vocabulary.decode(tokens[:wanted])
            yield [
                "" if ending.reached else ending.add(character)
                for ending, character in zip(endings, characters, strict=True)
            ]
            if all(ending.reached for ending in endings):
                return
        yield [ending.rest() for ending in endings]

    def _ids(self) -> "Tensor":
        import torch

        return torch.from_numpy(self._vocabulary.encode(self.start).astype("int64"))


def _start(prompt: str, vocabulary: "Vocabulary") -> str:
    """Return what the text continues: the prompt, or where it is empty what a text may begin after."""
    from charlm import paths, tokens
    from charlm.sampling import starting_text
    from charlm.vocabulary import Vocabulary

    fits = paths.VOCABULARY.is_file() and Vocabulary.load(paths.VOCABULARY) == vocabulary
    return starting_text(prompt, vocabulary, tokens.load(paths.TRAIN_TOKENS) if fits else None)


def _groups(writer: _Writer, num_samples: int) -> Iterator[tuple[int, range]]:
    """Yield the groups of texts that are drawn together, each with the numbers of the texts that are wanted."""
    for group, first in enumerate(range(0, num_samples, writer.together)):
        yield group, range(first, min(first + writer.together, num_samples))


def _stream(writer: _Writer, num_samples: int) -> None:
    """Write the texts one below the other, the first of a group as it is drawn."""
    screen = Screen()

    def begin(number: int) -> None:
        if num_samples > 1:
            screen.line(f"--- text {number + 1} of {num_samples} ---", dim=True)
        screen.write(writer.prompt, bold=True)

    for group, numbers in _groups(writer, num_samples):
        later: list[list[str]] = [[] for _ in numbers]
        begin(numbers[0])
        for pieces in writer.pieces(group, len(numbers)):
            screen.write(pieces[0])
            for text, piece in zip(later[1:], pieces[1:], strict=True):
                text.append(piece)
        screen.line()
        for number, text in zip(numbers[1:], later[1:], strict=True):
            begin(number)
            screen.line("".join(text))


def _side_by_side(writers: Sequence[_Writer], num_samples: int) -> None:
    """Write each text of the models in columns, the first of a group as it is drawn."""
    screen, width = Screen(), min(WIDEST, shutil.get_terminal_size().columns)
    for group, numbers in _groups(writers[0], num_samples):
        later: list[list[tuple[int, str]]] = [[] for _ in numbers]
        columns = _open(screen, writers, width, numbers[0], num_samples)
        streams = [writer.pieces(group, len(numbers)) for writer in writers]
        for step in itertools.zip_longest(*streams, fillvalue=[""] * len(numbers)):
            for column, pieces in enumerate(step):
                columns.add(column, pieces[0])
                for text, piece in zip(later[1:], pieces[1:], strict=True):
                    text.append((column, piece))
        columns.finish()
        for number, text in zip(numbers[1:], later[1:], strict=True):
            columns = _open(screen, writers, width, number, num_samples)
            for column, piece in text:
                columns.add(column, piece)
            columns.finish()


def _open(screen: Screen, writers: Sequence[_Writer], width: int, number: int, num_samples: int) -> Columns:
    if num_samples > 1:
        screen.line(f"--- text {number + 1} of {num_samples} ---", dim=True)
    columns = Columns(screen, [writer.name for writer in writers], width)
    for column, writer in enumerate(writers):
        columns.add(column, writer.prompt)
    return columns


def _as_document(writers: Sequence[_Writer], wish: Wish, seed_run: int) -> dict[str, Any]:
    first = writers[0]
    texts = []
    for writer in writers:
        for group, numbers in _groups(writer, wish.num_samples):
            pieces = zip(*writer.pieces(group, len(numbers)), strict=True)
            texts += [
                {"model": writer.name, "sample": number, "text": "".join(text)}
                for number, text in zip(numbers, pieces, strict=True)
            ]
    return {
        "prompt": first.prompt,
        "start": first.start,
        "seed": first.seed,
        "seed_run": seed_run,
        "length": first.length,
        "temperature": wish.temperature,
        "top_k": wish.top_k,
        "top_p": wish.top_p,
        "stop": wish.stop,
        "texts": texts,
    }
