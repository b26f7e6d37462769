"""Looking at many runs, one after the other or by several processes, each until time is up."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import torch

from jumpbench.ops.precision import use_tf32
from jumpbench.tables.planning.run import Run
from jumpbench.tables.price.hardware import machine

MOST = 8
"""Processes; each takes about half a GiB of the GPU's memory, beside what it looks at."""

Look = Callable[[Run], dict[str, Any]]
"""What is seen of a run. For processes it is a function of a module, or a partial of one."""


@contextlib.contextmanager
def processes() -> Iterator[Executor | None]:
    """As many as half of the cores, at most :data:`MOST`; None, for this process, below two."""
    cores = machine()["cores"]
    count = min(MOST, cores // 2)
    if count < 2:
        yield None
        return
    # Spawned, as CUDA does not work in a fork of a process that has used it.
    with ProcessPoolExecutor(count, get_context("spawn"), _begin, (cores // count,)) as pool:
        yield pool


def _begin(threads: int) -> None:
    torch.set_num_threads(threads)
    use_tf32(False)


def looks(
    runs: Sequence[Run], look: Look, end: float, pool: Executor | None = None
) -> Iterator[dict[str, Any]]:
    """What is seen of each run, in their order, or ``left_out``: why nothing is.

    Args:
        end: of the time for it (``time.time()``); what is not begun by then is left out.
        pool: the processes that look; None: this one.
    """
    if pool is None:
        yield from (_looked(look, end, run) for run in runs)
        return
    futures = [pool.submit(functools.partial(_looked, look, end), run) for run in runs]
    for run, future in zip(runs, futures, strict=True):
        try:
            yield future.result()
        except BrokenProcessPool as error:  # killed, as where memory runs out
            yield {"run": _name(run), "left_out": f"BrokenProcessPool: {error}"[:120]}


def _name(run: Run) -> str:
    return f"{run.slug}/{run.name}"


def _looked(look: Look, end: float, run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {"run": _name(run)}
    if time.time() > end:
        return found | {"left_out": "left out: no time was left"}
    try:
        return found | look(run)
    except Exception as error:  # the others are looked at all the same
        line = (str(error).splitlines() or [""])[0][:120]
        return found | {"left_out": f"{type(error).__name__}: {line}"}
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
