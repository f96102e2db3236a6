"""What decides the bits of a floating-point result, set in one place.

torch and its libraries read these variables once, while torch is imported, so a process that computes is
started with them. This module imports no torch; `charlm.device.settle` checks in that process that they took.
"""

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",  # models this small are fastest on one thread, and no sum depends on how many there are
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_ONE_INSTRUCTION_SET = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels, whatever newer instructions the processor has
    "MKL_CBWR": "COMPATIBLE",  # oneMKL's matrix products, whoever made the processor
    "OPENBLAS_CORETYPE": "Haswell",  # numpy's, which are three times as fast then; see charlm.products
}
_DETERMINISTIC_CUDA = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
# Changes no bit. glibc would map and unmap each tensor of a batch anew, and the kernel clear its pages each time.
_KEEP_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**28), "MALLOC_TRIM_THRESHOLD_": str(2**29)}


def environment(numerics: str) -> dict[str, str]:
    """Return the variables a computing process must be started with.

    Args:
        numerics: 'portable', the same bytes on any x86-64-v3 processor; or 'native', whatever instructions the
            processor has: faster, and repeatable on one kind of processor.
    """
    pins = _ONE_INSTRUCTION_SET if numerics == "portable" else {}
    return _ONE_THREAD | _DETERMINISTIC_CUDA | _KEEP_FREED_MEMORY | pins
