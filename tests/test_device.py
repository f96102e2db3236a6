"""The numbers are pinned, or the program stops and says so."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from charlm import numerics
from charlm.device import settle
from charlm.errors import CharlmError

SOURCE = Path(__file__).resolve().parent.parent / "src"
X86 = platform.machine() in ("x86_64", "AMD64")


PROGRAM = """
import torch
from charlm.device import settle
from charlm.errors import CharlmError
try:
    {statement}
except CharlmError as error:
    print("error:", error)
"""


def computing(statement: str, variables: dict[str, str]) -> str:
    """Return what `statement` prints in a process started with `variables`: what decides bits is read only once."""
    inherited = {name: value for name, value in os.environ.items() if name not in numerics.environment("portable")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement=statement)],
        env=inherited | variables | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def _restored() -> Iterator[None]:
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


@pytest.mark.skipif(not X86, reason="the pin is for x86-64 processors")
def test_portable_numbers_stop_in_a_process_that_was_not_pinned() -> None:
    found = computing("settle('cpu', 'portable')", {"ATEN_CPU_CAPABILITY": "default"})
    assert found == (
        "error: torch computes with DEFAULT, not AVX2, so the numbers would differ from other machines'; "
        "set compute.numerics to native to accept that\n"
    )


@pytest.mark.skipif(not X86, reason="the pin is for x86-64 processors")
@pytest.mark.parametrize(
    ("name", "mode", "wanted"),
    [
        ("MKL_CBWR", None, "COMPATIBLE"),
        ("MKL_CBWR", "AVX2", "COMPATIBLE"),
        ("OPENBLAS_CORETYPE", None, "Haswell"),
        ("OPENBLAS_CORETYPE", "Zen", "Haswell"),
    ],
)
def test_portable_numbers_stop_where_only_matrix_products_were_not_pinned(
    name: str, mode: str | None, wanted: str
) -> None:
    pins = {key: value for key, value in numerics.environment("portable").items() if key != name}
    found = computing("settle('cpu', 'portable')", pins | ({name: mode} if mode else {}))
    assert found == (
        f"error: {name} is {mode or 'not set'}, not {wanted}, so the numbers would differ from other machines'; "
        "set compute.numerics to native to accept that\n"
    )


@pytest.mark.skipif(not X86, reason="the pin is for x86-64 processors")
def test_portable_numbers_stop_where_numpy_was_there_before_the_pins() -> None:
    pins = numerics.environment("portable") | {"OPENBLAS_CORETYPE": "Nehalem"}
    late = "import numpy, os; os.environ['OPENBLAS_CORETYPE'] = 'Haswell'; settle('cpu', 'portable')"
    assert computing(late, pins) == (
        "error: numpy was loaded before OPENBLAS_CORETYPE was set, and computes with Nehalem, not Haswell, so the "
        "numbers would differ from other machines'; set compute.numerics to native to accept that\n"
    )


def test_portable_numbers_are_had_in_a_pinned_process_on_one_thread_whatever_it_was_told() -> None:
    found = computing(
        "print(settle('cpu', 'portable'), torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())",
        numerics.environment("portable") | {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
    )
    assert found == "cpu 1 True\n"


WORK = """
import sys
from pathlib import Path
import pytest
from charlm import one_evaluation
from tests import small_run

def tell(line):
    pass

compute = {"device": "cpu", "numerics": "native"}
small_run.go_where_tokens_are(Path(), pytest.MonkeyPatch())
for model in small_run.MODELS:
    name = model.rpartition(":")[2]
    small_run.run(name, model=model)
    one_evaluation.score_checkpoint(checkpoint=name, block_length=10, compute=compute, tell=tell)
    one_evaluation.sample_checkpoint(
        checkpoint=name, prompt="", length=3, temperatures=[1.0], seed=1, compute=compute, tell=tell
    )
    one_evaluation.show_context(
        checkpoints_by_model={name: name}, given_pairs=[], found_pairs=1, compute=compute, tell=tell
    )
one_evaluation.score_tables(block_size=small_run.T, compute=compute, tell=tell)
one_evaluation.score_kneser_ney(contexts=[1, 2], block_size=small_run.T, compute=compute, tell=tell)
print(sorted({"torch", "torch._dynamo", "torch._inductor"} & sys.modules.keys()))
"""


def test_nothing_that_a_worker_does_loads_the_compiler_of_torch(tmp_path: Path) -> None:
    """Nothing here is compiled, and loading it takes every process as long as torch itself."""
    places = os.pathsep.join(map(str, (SOURCE, SOURCE.parent)))
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        env=os.environ | {"PYTHONPATH": places},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("['torch']\n", 0), done.stderr


def test_the_pins_are_those_that_make_processors_agree() -> None:
    portable, native = numerics.environment("portable"), numerics.environment("native")
    assert portable.items() - native.items() == {
        ("ATEN_CPU_CAPABILITY", "avx2"),
        ("MKL_CBWR", "COMPATIBLE"),
        ("OPENBLAS_CORETYPE", "Haswell"),
    }
    assert native.items() >= {("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")}
    assert native.items() <= portable.items()


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("present", ["cpu", "cuda", "mps"])
def test_auto_takes_the_accelerator_that_is_there_and_else_the_cpu(
    monkeypatch: pytest.MonkeyPatch, present: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present == "cuda")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: present == "mps")
    assert settle("auto", "native") == torch.device(present)
    assert settle("cpu", "native") == torch.device("cpu")


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_this_machine_lacks_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(CharlmError) as caught:
        settle(device, "native")
    assert str(caught.value) == f"compute.device is '{device}', which this machine lacks; set it to cpu or auto"
