"""The commands, and what they accept.

What a command does lies in a module of its own, imported when it runs: torch takes a second to import, and
`--help` and shell completion must not wait for it.
"""

from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from charlm.cli import options


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=options.examples(
        "charlm sample --prompt 'ROMEO:' --length 500",
        "charlm score my.txt",
        "charlm inspect --json",
    ),
)
def cli() -> None:
    """Write text with the trained models, score a text under them, and look into them.

    Run it anywhere inside of the repository, after `make repro`. Exit status: 0, 1 for what the message says how to
    mend, 2 for wrong usage.
    """


@cli.command(
    short_help="Write texts.",
    epilog=options.examples(
        "charlm sample --prompt 'ROMEO:' --length 500 --temperature 0.8",
        "charlm sample --model both --top-p 0.9",
        "charlm sample --num-samples 16 --length 2000 --seed 7 --json > texts.json",
        "charlm sample --stop $'\\n\\n'      # one speech",
    ),
)
@options.model("Which model writes; both: side by side.  [default: the last of evaluate.models]", both=True)
@options.seed_run("The seed that the model was trained from.  [default: the first of train.seeds]")
@click.option(
    "--prompt", type=options.UTF8, help="The text to go on with; empty: begin a line.  [default: evaluate.prompt]"
)
@click.option("--length", type=options.COUNT, metavar="N", help="Characters to write.  [default: evaluate.length]")
@click.option(
    "--temperature",
    type=options.TEMPERATURE,
    metavar="X",
    default=1.0,
    show_default=True,
    help="Below 1 safer, above 1 wilder; 0 always takes the likeliest character.",
)
@click.option("--top-k", type=options.COUNT, metavar="K", help="Draw only from the K likeliest characters.")
@click.option(
    "--top-p",
    type=options.SHARE,
    metavar="P",
    default=1.0,
    show_default=True,
    help="Draw only from the fewest characters whose shares reach P, after temperature and --top-k.",
)
@click.option(
    "--seed",
    type=options.SEED,
    metavar="S",
    help="Decides the texts, with the number of each and nothing else.  [default: evaluate.sample_seed]",
)
@click.option("--num-samples", type=options.COUNT, metavar="M", default=1, show_default=True, help="How many texts.")
@click.option("--stop", type=options.UTF8, help="End a text before it writes this.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="What to do with characters of the prompt that the model has never seen.",
)
@options.as_json
def sample(**wish: Any) -> None:
    """Write texts, each character drawn from what the model expects there.

    A text appears as it is drawn. The same seed gives the same texts, however many are asked for.
    """
    from charlm.cli.sample import Wish
    from charlm.cli.sample import sample as write

    write(Wish(**wish))


@cli.command(
    short_help="Give the loss of a text under each checkpoint.",
    epilog=options.examples(
        "charlm score my.txt",
        "charlm score my.txt --model attention --context full",
        "charlm score old.txt --encoding latin-1",
        "curl -s https://example.org/a.txt | charlm score - --json",
    ),
)
@click.argument("file", type=click.Path(path_type=Path, exists=False, allow_dash=True))
@options.model("Only under this model.  [default: all]")
@options.seed_run("Only under the run of this seed.  [default: all]")
@click.option(
    "--context",
    type=click.Choice(["windows", "full"]),
    default="windows",
    show_default=True,
    help="windows: cut the text into windows as the report does, so that its numbers compare; full: let every "
    "character see as much before it as the model can, which takes several times as long.",
)
@click.option(
    "--encoding",
    type=options.ENCODING,
    metavar="NAME",
    help="How FILE's bytes make characters.  [default: tokenize.encoding]",
)
@options.as_json
def score(file: Path, **choice: Any) -> None:
    """Give the loss of a text under each checkpoint: nats and bits per character, and perplexity.

    Every character but the first is predicted once, and the mean is over all of them. Characters that the models
    do not know are left out as if they were not there, counted and named. A byte-order mark and the line ends of
    Windows are treated as in the text that they learned from (tokenize.normalise). FILE is read in pieces and may be of
    any size (its tokens need as much room in the temporary folder); - reads standard input.
    """
    from charlm.cli.score import score as write

    write(file, **choice)


@cli.command(
    short_help="Show what the checkpoints hold and what the text looks like.",
    epilog=options.examples("charlm inspect", "charlm inspect --model attention --seed-run 1 --json"),
)
@options.model("Only the checkpoints of this model.  [default: all]")
@options.seed_run("Only the run of this seed.  [default: all]")
@options.as_json
def inspect(**choice: Any) -> None:
    """Show what the checkpoints hold, checked against their hashes, and what the text looks like."""
    from charlm.cli.inspect import inspect as write

    write(**choice)


@cli.command(
    short_help="Print what teaches a shell to complete charlm.",
    epilog=options.examples(
        'eval "$(charlm completion bash)"            # for this shell',
        "charlm completion bash >> ~/.bashrc         # for every one; zsh: ~/.zshrc",
        "charlm completion fish > ~/.config/fish/completions/charlm.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what teaches a shell to complete charlm's commands and options."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three
    click.echo(kind(cli, {}, "charlm", "_CHARLM_COMPLETE").source())
