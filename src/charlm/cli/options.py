"""What the options of the commands accept, and what a shell offers for them."""

import math
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from charlm.errors import CharlmError
from charlm.text import is_encoding

if TYPE_CHECKING:
    from charlm.cli.workplace import Settings

BOTH = "both"


class _Utf8(click.ParamType[str]):
    """Text that is UTF-8 whatever the locale says: Python decodes the arguments by the locale."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return os.fsencode(value).decode("utf-8")
        except UnicodeDecodeError as error:
            self.fail(f"it is not UTF-8 at byte {error.start}", param, ctx)


class _Number(click.FloatRange):
    """A range that not-a-number is outside of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}", param, ctx)
        return number


class _Encoding(click.ParamType[str]):
    """The name of an encoding of text that Python knows."""

    name = "encoding"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_encoding(value):
            self.fail(f"'{value}' is no encoding that Python knows, such as utf-8, latin-1 or gb18030", param, ctx)
        return value


UTF8 = _Utf8()
ENCODING = _Encoding()
SEED = click.IntRange(0, 2**32 - 1)  # as in params.yaml
COUNT = click.IntRange(min=1)
TEMPERATURE = _Number(0, 100)
SHARE = _Number(0, 1, min_open=True)

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def examples(*lines: str) -> str:
    """Return what ends a command's help: its lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def model(text: str, *, both: bool = False) -> Decorator:
    """Return the option --model, described by `text`."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _completions(incomplete, lambda settings: [*settings.models, *([BOTH] if both else [])])

    return click.option("--model", "model", metavar="NAME", shell_complete=complete, help=text)


def seed_run(text: str) -> Decorator:
    """Return the option --seed-run, described by `text`."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _completions(incomplete, lambda settings: map(str, settings.seeds))

    return click.option("--seed-run", type=SEED, metavar="S", shell_complete=complete, help=text)


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _completions(incomplete: str, known: Callable[["Settings"], Iterable[str]]) -> list[CompletionItem]:
    """Return what goes on so; nothing where the parameters cannot be read: an error would land in the prompt."""
    from charlm.cli import workplace

    try:
        names = known(workplace.settings())
    except (CharlmError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
