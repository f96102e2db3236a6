"""Where the time of a training step goes, as torch's own profiler tells."""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from torch.profiler import ProfilerActivity, profile

from benchmarks import work
from benchmarks.program import link_tokens, timed_run
from charlm.device import settle

OUTSIDE = "Python, batches, autograd's bookkeeping"
# The first pattern that is part of an operator's name decides, in small letters.
GROUPS = {
    OUTSIDE: ("autograd::engine",),  # "...: MmBackward0" is what autograd does around that operator
    "matrix products": ("mm", "matmul", "linear", "_product"),  # the last of `charlm.products`
    "softmax and cross-entropy": ("softmax", "nll_loss", "nllloss", "cross_entropy", "logsumexp"),
    "optimizer": ("adam", "optimizer.", "_foreach_"),
    "gathers and their gradients": ("embedding", "index", "gather", "scatter"),
    "other operators": ("",),
}
_STEPS = 500


def shares(*, model: str, numerics: str, text_folder: str) -> dict[str, float]:
    """Profile a run; return the share of each group in it, and `step`, the microseconds of a step unprofiled."""
    sizes = work.Sizes()
    with TemporaryDirectory() as scratch, chdir(scratch):
        link_tokens(Path(text_folder), sizes.block_size)
        settle("cpu", numerics)
        step = 1e6 / timed_run(model, numerics, sizes, 4 * _STEPS, work.PROCESSOR)
        with profile(activities=[ProfilerActivity.CPU]) as found:
            profiled = 1e6 / timed_run(model, numerics, sizes, _STEPS, work.WALL)  # the profiler's own clock
    parts = dict.fromkeys(GROUPS, 0.0)
    for event in found.key_averages():
        parts[group_of(event.key)] += event.self_cpu_time_total / _STEPS
    whole = max(profiled, sum(parts.values()))
    parts[OUTSIDE] += whole - sum(parts.values())
    last = parts.pop(OUTSIDE)
    return {name: part / whole for name, part in (parts | {OUTSIDE: last}).items()} | {"step": step}


def group_of(name: str) -> str:
    """Return the group of an operator."""
    lower = name.lower()
    return next(group for group, patterns in GROUPS.items() if any(pattern in lower for pattern in patterns))
