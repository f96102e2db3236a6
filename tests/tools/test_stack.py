"""The stack is told as the promise needs it."""

import pytest
import torch

from tools import stack


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.13.0", "2.13.0"),
        ("2.13.0+cpu", "2.13.0"),
        ("2.13.0+cu130", "2.13.0"),
        ("2.13.0+rocm7.1", "2.13.0+rocm7.1"),
        ("2.13.0a0+git1234567", "2.13.0a0+git1234567"),
    ],
)
def test_a_build_of_torch_that_computes_alike_is_not_told(
    version: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    assert stack.here()["torch"] == told


def test_a_difference_names_what_there_is_and_what_there_was() -> None:
    made_with = {"machine": "x86_64", "torch": "2.13.0"}
    assert stack.differences(made_with, {"machine": "x86_64", "torch": "2.13.0", "more": "1"}) == []
    assert stack.differences(made_with, {"machine": "aarch64"}) == [
        "machine is aarch64, not x86_64",
        "torch is None, not 2.13.0",
    ]
