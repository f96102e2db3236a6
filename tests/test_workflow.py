"""What runs on GitHub: the file says what GitHub understands, with no more rights than it needs, and names what exists.

GitHub alone can run it; what it runs is tried elsewhere: the make targets by hand each day, the summary of a pull
request in tests/pipeline/test_summary.py.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS: dict[str, dict[str, Any]] = {
    f"{job}-{number}": step for job, described in JOBS.items() for number, step in enumerate(described["steps"])
}
SCRIPTS = {name: step["run"] for name, step in STEPS.items() if "run" in step}

# What every machine of GitHub's has, and what a shell has of its own.
COMMON = {"sudo", "apt-get", "git", "test", "command"}


def programs(script: str) -> list[list[str]]:
    """Return the words of each command of a script that is as plain as a workflow's should be."""
    words = shlex.split(script.replace("\n", " ; "), comments=True)
    commands: list[list[str]] = [[]]
    for word in words:
        if word in {";", "|", "||", "&&"}:
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_it_has_the_parts_that_github_wants_and_no_misspelt_one() -> None:
    # YAML 1.1 reads a plain `on` as true.
    assert set(WORKFLOW) == {"name", True, "permissions", "concurrency", "jobs"}
    assert set(WORKFLOW[True]) == {"push", "pull_request", "workflow_dispatch"}
    for job in JOBS.values():
        assert set(job) == {"runs-on", "timeout-minutes", "steps"}
        assert job["timeout-minutes"] <= 60
        assert re.fullmatch(r"ubuntu-\d\d\.04", job["runs-on"]), "named, or it changes under us"


def test_it_may_read_and_no_more() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in TEXT
    checkouts = [step for step in STEPS.values() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(JOBS)
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_uses_one_pinned_action_or_runs_one_script(name: str) -> None:
    step = STEPS[name]
    assert set(step) <= {"name", "if", "env", "with", "uses", "run"}
    assert ("uses" in step) != ("run" in step)
    if "uses" in step:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), "a tag can be moved; a commit cannot"
        assert re.search(rf"{re.escape(step['uses'])} # v\d+\.\d+\.\d+$", TEXT, re.MULTILINE), "say which version it is"


def test_one_action_has_one_version() -> None:
    pins = {step["uses"] for step in STEPS.values() if "uses" in step}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_a_shells_and_nobody_can_write_into_it(name: str) -> None:
    checked = subprocess.run(["bash", "-n"], input=SCRIPTS[name], check=False, capture_output=True, encoding="utf-8")
    assert checked.returncode == 0, checked.stderr
    assert "${{" not in SCRIPTS[name], "a branch may be called `; rm -rf ~`; pass it by the environment"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_command_exists(name: str) -> None:
    for command in programs(SCRIPTS[name]):
        match command:
            case ["make", *targets]:
                assert targets
                assert set(targets) <= make_targets()
            case [script, *_] if "/" in script:
                assert os.access(ROOT / script, os.X_OK), script
            case [program, *_]:
                assert program in COMMON, program


def test_the_gates_are_all_there() -> None:
    run = {" ".join(command) for script in SCRIPTS.values() for command in programs(script)}
    assert {"make lint", "make check", "make test", "make repro", "make verify"} <= run


def test_a_pull_request_and_it_alone_is_summed_up_against_its_base() -> None:
    [step] = [step for step in STEPS.values() if ".github/summary.sh" in step.get("run", "")]
    assert step["run"] == '.github/summary.sh "$BASE" >> "$GITHUB_STEP_SUMMARY"', "where GitHub shows it"
    assert step["env"]["BASE"] == "origin/${{ github.base_ref }}"
    assert step["if"] == "${{ !cancelled() && github.event_name == 'pull_request' }}", "also where lint has failed"
    [job] = [job for job in JOBS.values() if step in job["steps"]]
    [checkout] = [other for other in job["steps"] if other.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["fetch-depth"] == 0, "with the base branch"
    before = [other.get("run") for other in job["steps"][: job["steps"].index(step)]]
    assert "make check" in before, "which installs DVC too"


def test_caches_are_keyed_on_the_lock_files() -> None:
    keys = []
    for step in STEPS.values():
        options = step.get("with", {})
        if step.get("uses", "").startswith("actions/setup-python@"):
            assert options["cache"] == "pip"
            keys.append(options["cache-dependency-path"])
        if step.get("uses", "").startswith("actions/cache@"):
            keys += re.findall(r"hashFiles\('([^']+)'\)", options["key"])
    assert set(keys) == {"requirements.lock", "dvc.lock"}
    assert all((ROOT / key).is_file() for key in keys)


def test_what_is_uploaded_is_what_the_pipeline_writes() -> None:
    [paths] = [step["with"]["path"].split() for step in STEPS.values() if "upload-artifact" in step.get("uses", "")]
    assert all((ROOT / path).exists() for path in paths)
    [url] = [step["env"]["PICTURE_URL"] for step in STEPS.values() if "PICTURE_URL" in step.get("env", {})]
    assert (ROOT / "reports" / url.partition("/reports/")[2]).is_file()


def test_debian_packages_are_those_that_ci_run_installs() -> None:
    """`.ci/run` is the same on a bare machine, so a test that needs one more program needs it in both."""
    ours = {
        word
        for script in SCRIPTS.values()
        for command in programs(script)
        if command[:3] == ["sudo", "apt-get", "install"]
        for word in command[3:]
        if not word.startswith("-")
    }
    wanted = re.findall(r"missing\+=\(([^)]*)\)", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    theirs = {package for packages in wanted for package in packages.split()}
    assert ours == theirs - {"git", "make", "python3", "python3-venv"}
