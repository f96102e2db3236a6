"""The pinned libraries make, to the last bit, what they made when tools/golden.json was written."""

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tools import golden, stack

ROOT = Path(__file__).resolve().parent.parent


def test_the_file_was_made_with_what_requirements_lock_pins() -> None:
    """Else the comparison below would be skipped for ever."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", lock, re.MULTILINE))
    made_with = golden.load()["made_with"]
    libraries = made_with.keys() - {"system", "machine", "python"}
    assert libraries == {"torch", "numpy", "matplotlib", "safetensors"}
    for name in libraries:
        assert made_with[name] == pinned[name], f"requirements.lock pins {name} {pinned[name]}; run `make golden`"


@pytest.fixture(scope="module")
def made(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What `make golden` writes where of the committed values one is another and one is missing, and what it says."""
    if differences := stack.differences(golden.load()["made_with"], stack.here()):
        pytest.skip(f"other bits are to be expected: {'; '.join(differences)}")
    file = tmp_path_factory.mktemp("golden") / golden.FILE.name
    older = golden.load()
    older["values"]["corpus"] = "another"
    del older["values"]["picture"]
    file.write_text(json.dumps(older), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as said:
        patch.setenv("CHARLM_CORPUS", str(corpus_file))
        patch.setattr(golden, "FILE", file)
        golden.main()
    return file, said.getvalue()


def test_what_comes_out_is_what_came_out_then(made: tuple[Path, str]) -> None:
    found = dict(golden.leaves(golden.load(made[0])["values"]))
    stored = dict(golden.leaves(golden.load()["values"]))
    changed = {
        name: (stored.get(name), found.get(name)) for name in stored | found if stored.get(name) != found.get(name)
    }
    assert changed == {}, "if a pin was changed and this is meant: `make golden`"


def test_make_golden_writes_the_committed_file_and_says_what_has_changed(made: tuple[Path, str]) -> None:
    file, said = made
    assert file.read_bytes() == golden.FILE.read_bytes()
    committed = golden.load()
    assert said.splitlines() == [
        f"values.corpus: 'another' -> {committed['values']['corpus']!r}",
        f"values.picture: None -> {committed['values']['picture']!r}",
        f"golden.json: 2 of {len(dict(golden.leaves(committed)))} values changed",
    ]
