"""What every benchmark here shares: alternating timings, peak memory, a json record."""

import json
import platform
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from jumpbench.tables.runs.memory import keep_freed_memory

BLOCK_SECONDS = 0.1


def as_in_a_run(threads: int) -> None:
    """The process in the state of a run: its threads, and glibc keeping freed memory.

    Otherwise both sides of small tensor work take up to half as long again, or do not, by what the
    process has freed before and what lies above it.
    """
    torch.set_num_threads(threads)
    keep_freed_memory()


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call, waiting for the GPU where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(
    name: str,
    ours: Callable[[], object],
    other: Callable[[], object],
    repeats: int = 7,
    warm_up: bool = True,
) -> dict[str, Any]:
    """Both sides alternately after a warm-up of each; the speed-up is the ratio of minima.

    One timing is the mean of a block of calls that lasts about ``BLOCK_SECONDS``: a call of
    microseconds right after the other side would measure that side's leavings in the caches. On a
    shared machine only the ratio means something. Peak memory is that of the GPU during
    each side; without a GPU, the process's high-water mark after both (one number). Calls of
    minutes need no ``warm_up``.
    """
    times: dict[str, list[float]] = {"ours": [], "other": []}
    memory: dict[str, float] = {}
    sides = {"ours": ours, "other": other}
    calls = dict.fromkeys(sides, 1)
    for side, work in sides.items():
        if not warm_up:
            break
        work()
        calls[side] = max(1, int(BLOCK_SECONDS / seconds(work)))
    for _ in range(repeats):
        for side, work in sides.items():
            if torch.cuda.is_available():
                torch.cuda.reset_peak_memory_stats()
            times[side].append(seconds(partial(_repeat, work, calls[side])) / calls[side])
            if torch.cuda.is_available():
                memory[side] = torch.cuda.max_memory_allocated() / 2**20
    if not memory:
        memory["process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    fastest = {side: min(values) for side, values in times.items()}
    result = {
        "name": name,
        "ours_seconds": fastest["ours"],
        "other_seconds": fastest["other"],
        "speedup": fastest["other"] / fastest["ours"],
        "peak_memory_mb": memory,
        "repeats": repeats,
    }
    print(f"{name}: {fastest['ours']:.4g} s, other {fastest['other']:.4g} s", end="")
    print(f", {result['speedup']:.2f} times as fast")
    return result


def _repeat(work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        work()


def record(results: list[dict[str, Any]], path: str | Path) -> None:
    """Write the results with hardware, torch version and thread count."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    environment = {
        "cpu": platform.processor() or platform.machine(),
        "gpu": gpu,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"environment": environment, "results": results}, indent=2) + "\n")
