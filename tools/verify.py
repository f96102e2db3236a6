"""`make verify`: does the committed state reproduce? A clone, no cache, every stage, every output compared.

It ends with status 0 when all outputs are identical. On a platform outside the promise (see `tools.stack`) it is
enough that the metrics are within tolerance; `--exact` demands bytes anywhere.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm import corpus, paths
from charlm.console import run
from charlm.errors import CharlmError
from charlm.params import load
from charlm.settings import Compute
from tools import golden, stack
from tools.compare import TOLERANCE, Finding, compare, outputs

_DURATION = "about a minute and a half on two cores"  # 90 s on this project's own


def main() -> None:
    """Verify the commit that the current folder has checked out."""
    parser = argparse.ArgumentParser(prog="make verify", description=__doc__)
    parser.add_argument("--exact", action="store_true", help="demand identical bytes on any platform")
    exact = parser.parse_args().exact
    commit = _git("rev-parse", "--short", "HEAD")
    _say(f"Reproducing {commit} in a scratch clone without cache: {_DURATION}.")
    if _git("status", "--porcelain"):
        _say("What is not committed here takes no part in it.")
    with TemporaryDirectory(prefix="charlm-verify-") as scratch:
        clone = Path(scratch) / "clone"
        _git("clone", "--quiet", ".", str(clone))
        reasons = outside_the_promise(clone)
        before = outputs(clone)
        reproduce(clone)
        findings = compare(before, outputs(clone), to_the_byte=exact or not reasons)
    _say()
    sys.exit(report(findings, [] if exact else reasons))


def outside_the_promise(root: Path) -> list[str]:
    """Return why this process may compute other bits than those that are committed in `root`; none, if it must not."""
    made_with = golden.load(root / golden.FILE.relative_to(Path(__file__).parent.parent))["made_with"]
    compute = load(Compute, root / paths.PARAMS)
    reasons = stack.differences(made_with, stack.here())
    if compute.numerics != "portable":
        reasons.append(f"compute.numerics is {compute.numerics}, not portable")
    if compute.device != "cpu":
        reasons.append(f"compute.device is {compute.device}, not cpu")
    return reasons


def reproduce(root: Path) -> None:
    """Run every stage of the working copy `root`, whose output shows how far it is.

    Raises:
        CharlmError: when a stage fails.
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if local := environment.get(corpus.LOCAL_COPY):
        environment[corpus.LOCAL_COPY] = str(Path(local).resolve())
    # Forced: DVC takes results that came with Git for its own, and would run neither evaluate nor plot.
    command = [sys.executable, "-m", "dvc", "repro", "--force", "--no-run-cache"]
    with subprocess.Popen(command, cwd=root, env=environment, stdin=subprocess.DEVNULL) as dvc:
        try:
            status = dvc.wait()
        except KeyboardInterrupt:
            dvc.wait()  # it got the same signal, and writes to the folder until it ends
            raise
    if status:
        raise CharlmError("`dvc repro` failed in the clone, as it says above")


def report(findings: Sequence[Finding], reasons: Sequence[str]) -> int:
    """Print a line for each finding and what follows from all; return the exit status.

    Args:
        findings: of all outputs.
        reasons: why this platform lies outside the promise, if it does and if that shall count.
    """
    for finding in findings:
        _say(str(finding))
    if reasons:
        _say(f"Identical bytes are not promised here: {'; '.join(reasons)}.")
        _say(f"Data has to be identical, and metrics equal within {TOLERANCE:g} (relative, absolute below 1).")
    bad = [finding.path for finding in findings if finding.verdict == "differs" and not finding.excused]
    if bad:
        _say(f"Not reproduced: {', '.join(bad)}.")
        return 1
    same = sum(finding.verdict == "identical" for finding in findings)
    _say(f"Reproduced: {same} of {len(findings)} outputs are identical{', and the metrics agree' if reasons else ''}.")
    return 0


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CharlmError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def _say(line: str = "") -> None:
    print(line, flush=True)


if __name__ == "__main__":
    run(main)
