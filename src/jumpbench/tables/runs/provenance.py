"""Where a number comes from: code, versions, hardware, seed, time and memory."""

import functools
import importlib.metadata
import os
import platform
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jumpbench.paths import checkout
from jumpbench.tables.price.hardware import machine
from jumpbench.tables.runs.git import edited, git
from jumpbench.version import __version__

_PACKAGES = ("torch", "torchvision", "lightning", "torchmetrics", "hydra-core", "numpy", "scipy")


@dataclass(frozen=True)
class Started:
    """When a run began: by the monotonic clock, and by the processor time of this process."""

    clock: float = field(default_factory=time.monotonic)
    processor: float = field(default_factory=time.process_time)


def provenance(config: dict[str, Any], started: Started, device: str) -> dict[str, Any]:
    """Where one run comes from, taken when it ends.

    Its code is as :func:`note_code` found it.
    """
    import torch

    from jumpbench.tables.runs.memory import peak_memory_gb

    on_gpu = device.startswith("cuda")
    return {
        **code_version(),
        "edited": edited_code(),
        "versions": versions(),
        "hardware": {**machine(), "gpu": torch.cuda.get_device_name() if on_gpu else None},
        "device": device,
        "threads": torch.get_num_threads(),
        # MKL's other path on AMD processors, see reproduce/environment.sh: it rounds otherwise.
        "mkl_avx512": "mkl_avx512.so" in os.environ.get("LD_PRELOAD", ""),
        "precision": str(config["trainer"].get("precision")),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "seed": config["seed"],
        "finished": now(),
        "wall_seconds": round(time.monotonic() - started.clock, 3),
        # Of all threads: on one it is what the run takes on a machine that does nothing else.
        "processor_seconds": round(time.process_time() - started.processor, 3),
        "peak_memory_gb": round(peak_memory_gb(on_gpu), 3),
    }


def note_code() -> None:
    """Look at the code once a process, before the first run: it may be edited while one is made."""
    code_version()
    edited_code()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@functools.cache
def _versions() -> dict[str, str]:
    numbers = {"python": platform.python_version(), "jumpbench": __version__}
    for name in _PACKAGES:
        try:
            numbers[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return numbers


def versions() -> dict[str, str]:
    """Of Python, of this package and of those that numbers depend on."""
    return dict(_versions())


@functools.cache
def code_version() -> dict[str, Any]:
    """Commit and whether the working tree differs from it; None outside a checkout.

    New files count (a module that is not committed yet), recorded results do not.
    """
    root = checkout()
    if root is None or (commit := git(root, "rev-parse", "HEAD")) is None:
        return {"commit": None, "dirty": None}
    parts = ("src", "conf", "reproduce", "pyproject.toml", ":(exclude,glob)reproduce/*/results/**")
    changed = git(root, "status", "--porcelain", "--untracked-files=all", "--", *parts)
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


@functools.cache
def edited_code() -> dict[str, str]:
    """Modules that are not as committed; see :func:`~jumpbench.tables.runs.git.edited`."""
    root = checkout()
    return {} if root is None or not code_version()["dirty"] else edited(root)
