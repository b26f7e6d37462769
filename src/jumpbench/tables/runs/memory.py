"""How a process that makes runs treats freed memory."""

import contextlib
import ctypes
import gc
import os
import resource
from collections.abc import Iterator
from pathlib import Path

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Larger blocks are given back when they are freed. glibc before 2.35 takes no more than the second.
_LARGEST_KEPT = 2**28, 2**25


def keep_freed_memory() -> bool:
    """Let glibc keep what was freed for the next step; whether it agreed.

    torch does not cache memory on a CPU. By default glibc gives the activations of a step back to
    the system, which hands the next step cleared pages one fault at a time: a fifth of the time of
    training a small transformer on lists. Blocks of up to 256 MiB (32 MiB before glibc 2.35) stay,
    and up to 2 GiB at the end of the heap. ``MALLOC_*`` and ``GLIBC_TUNABLES`` in the environment
    win; other C libraries are left alone.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return False
    return bool(
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        and any(mallopt(_MMAP_THRESHOLD, size) for size in _LARGEST_KEPT)
    )


_first_of_many = False


@contextlib.contextmanager
def many_runs() -> Iterator[None]:
    """Collections before runs leave out what the process held when the first of them began.

    A full collection takes a quarter of a second once torch and Lightning are imported, nearly all
    of it over what these made, which stays: longer than many a small run.
    """
    global _first_of_many
    if gc.get_freeze_count():  # somebody froze something of theirs
        yield
        return
    _first_of_many = True
    try:
        yield
    finally:
        _first_of_many = False
        gc.unfreeze()


def forget_peak() -> None:
    """Start the count of the peak memory anew, so that it is that of the run which begins now."""
    global _first_of_many
    gc.collect()
    if _first_of_many:
        gc.freeze()
        _first_of_many = False
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # what earlier runs of this process left in the heap
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_memory_gb(on_gpu: bool) -> float:
    """Highest memory in use since :func:`forget_peak`, in GiB: of the GPU, or of the process.

    Where the system cannot forget a peak, that of the process since it began.
    """
    import torch

    if on_gpu:
        return torch.cuda.max_memory_allocated() / 2**30
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
