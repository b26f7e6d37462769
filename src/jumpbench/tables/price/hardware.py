"""The machine that this process runs on."""

import functools
import os
import platform
from pathlib import Path
from typing import Any


@functools.cache
def machine() -> dict[str, Any]:
    """Processor model, usable cores and memory."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            x.split(":", 1)[1].strip() for x in info.read_text().splitlines() if "model name" in x
        ]
        cpu = names[0] if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": cpu, "cores": cores, "memory_gb": round(memory, 1)}
