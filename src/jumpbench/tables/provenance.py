"""Where a number comes from: code, versions, hardware, seed, time and memory."""

import functools
import importlib.metadata
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jumpbench import __version__
from jumpbench.paths import checkout

_PACKAGES = ("torch", "torchvision", "lightning", "torchmetrics", "hydra-core", "numpy", "scipy")


def provenance(config: dict[str, Any], started: float, device: str) -> dict[str, Any]:
    """Where one run comes from, taken when it ends; ``started`` by the monotonic clock."""
    import torch

    from jumpbench.tables.memory import peak_memory_gb

    on_gpu = device.startswith("cuda")
    return {
        **code_version(),
        "versions": versions(),
        "hardware": {**machine(), "gpu": torch.cuda.get_device_name() if on_gpu else None},
        "device": device,
        "threads": torch.get_num_threads(),
        "seed": config["seed"],
        "finished": now(),
        "wall_seconds": round(time.monotonic() - started, 3),
        "peak_memory_gb": round(peak_memory_gb(on_gpu), 3),
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "jumpbench": __version__}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


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


@functools.cache
def code_version() -> dict[str, Any]:
    """Commit and whether the working tree differs from it; None outside a checkout.

    New files count (a module that is not committed yet), recorded results do not.
    """
    root = checkout()

    def git(*args: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *args], capture_output=True, text=True, timeout=20
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if root is None or (commit := git("rev-parse", "HEAD")) is None:
        return {"commit": None, "dirty": None}
    parts = ("src", "conf", "reproduce", "pyproject.toml", ":(exclude,glob)reproduce/*/results/**")
    changed = git("status", "--porcelain", "--untracked-files=all", "--", *parts)
    return {"commit": commit, "dirty": bool(changed)}
