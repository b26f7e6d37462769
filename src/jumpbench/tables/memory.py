"""How the C library of a run's process treats freed memory."""

import ctypes
import os

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> bool:
    """Let glibc keep what was freed for the next step; whether it agreed.

    torch does not cache memory on a CPU. By default glibc gives the activations of a step back to
    the system, which hands the next step cleared pages one fault at a time: a fifth of the time of
    training a small transformer on lists. Up to 2 GiB at the end of the heap stay. ``MALLOC_*`` and
    ``GLIBC_TUNABLES`` in the environment win; other C libraries are left alone.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return False
    return bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_MMAP_THRESHOLD, 2**25))
