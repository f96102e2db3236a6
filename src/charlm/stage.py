"""How a stage runs: as any program of this project, and on one version of code and parameters from start to end."""

from collections.abc import Callable
from itertools import chain

from charlm import console, params, source_code
from charlm.errors import CharlmError


def run(main: Callable[[], None]) -> None:
    """Run `main` as `charlm.console.run` does, and fail if the code or the parameters changed meanwhile.

    DVC hashes what a result depends on when the stage has ended, and would take the new for what made it. What a
    stage that fails has written is not recorded, and made anew.
    """

    def unchanged() -> None:
        main()
        for name in chain(source_code.changed(), params.changed()):
            raise CharlmError(source_code.refusal(name))

    console.run(unchanged)
