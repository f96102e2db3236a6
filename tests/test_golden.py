"""The pinned libraries make, to the last bit, what they made when tools/golden.json was written."""

import re
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


def test_what_comes_out_is_what_came_out_then(corpus_text: str) -> None:
    if differences := stack.differences(golden.load()["made_with"], stack.here()):
        pytest.skip(f"other bits are to be expected: {'; '.join(differences)}")
    found = dict(golden.leaves(golden.measure(corpus_text)))
    stored = dict(golden.leaves(golden.load()["values"]))
    changed = {
        name: (stored.get(name), found.get(name)) for name in stored | found if stored.get(name) != found.get(name)
    }
    assert changed == {}, "if a pin was changed and this is meant: `make golden`"
