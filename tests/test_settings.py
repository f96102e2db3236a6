"""How many processes may run at a time."""

import os

import pytest

from charlm.errors import CharlmError
from charlm.settings import jobs


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("3", 3), ("64", 64)])
def test_charlm_jobs_is_how_many(monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    monkeypatch.setenv("CHARLM_JOBS", text)
    assert jobs() == count


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "two", " ", "²", "1000000"])
def test_charlm_jobs_that_is_no_number_is_an_error_naming_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("CHARLM_JOBS", text)
    with pytest.raises(
        CharlmError, match=f"^CHARLM_JOBS is '{text}'; it wants a whole number of 1 to 999999, or to be unset$"
    ):
        jobs()


def test_of_a_charlm_jobs_that_is_too_long_the_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARLM_JOBS", "1" * 5000)
    with pytest.raises(CharlmError, match=f"^CHARLM_JOBS is '{'1' * 20}'; it wants"):
        jobs()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no process to cores")
@pytest.mark.parametrize("unset", [True, False])
def test_without_charlm_jobs_it_is_the_cores_this_process_may_use(monkeypatch: pytest.MonkeyPatch, unset: bool) -> None:
    monkeypatch.delenv("CHARLM_JOBS", raising=False) if unset else monkeypatch.setenv("CHARLM_JOBS", "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5})
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert jobs() == 3
