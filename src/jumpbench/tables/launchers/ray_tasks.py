"""What tasks of Ray ask for, and what their workers do."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray

from jumpbench.errors import UserError
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Job, ToFile
from jumpbench.tables.runs.resources import Resources


class Tasks:
    """Functions and options of tasks, by what runs ask for and what machines have.

    Args:
        gpu_memory_gb: memory of one GPU in GiB; None: asked of one, when a run wants to know.
        grows: whether machines may join, so that a run may wait for one that there is not yet.
    """

    def __init__(self, gpu_memory_gb: float | None, grows: bool) -> None:
        self._gpu_memory, self._grows = gpu_memory_gb, grows
        self._nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        self._on_cpus = ray.remote(_make())
        # A process that has used one GPU cannot change to another.
        self._on_gpus = ray.remote(max_calls=1)(_make())

    def by(
        self, resources: Resources, counted: Callable[[], float | None] = lambda: None
    ) -> tuple[Any, dict[str, Any]]:
        """(the function that makes a run, its options).

        ``counted`` says what GPU memory (GiB) the run needs, where it asks for no amount of it nor
        for whole GPUs, and has one device.

        Raises:
            UserError: no machine has what it asks for, nor ever will.
        """
        options: dict[str, Any] = {"num_cpus": resources.cpus}
        if resources.memory_gb:
            options["memory"] = int(resources.memory_gb * 2**30)
        if gpus := self._gpus(resources, counted):
            options["num_gpus"] = gpus
        self._check(options)
        return self._on_gpus if gpus else self._on_cpus, options

    def _gpus(self, resources: Resources, counted: Callable[[], float | None]) -> float:
        there = max((node.get("GPU", 0.0) for node in self._nodes), default=0.0)
        if resources.gpus == 0 or (resources.gpus is None and not there):
            return 0.0
        wanted = resources.gpu_memory_gb
        if wanted is None and (resources.gpus is not None or resources.devices > 1):
            return float(resources.gpus or resources.devices)
        if wanted is None and (wanted := counted()) is None:
            return 1.0
        if self._gpu_memory is None:
            self._gpu_memory = _memory_of_a_gpu()
        if resources.gpu_memory_gb is None:
            wanted = min(wanted, self._gpu_memory)
        if wanted > self._gpu_memory:
            raise UserError(
                f"resources.gpu_memory_gb={wanted:g}: a GPU here has {self._gpu_memory:.0f} GiB"
            )
        return math.ceil(1e4 * wanted / self._gpu_memory) / 1e4

    def _check(self, options: dict[str, Any]) -> None:
        if self._grows:
            return
        for key, name in (("num_cpus", "CPU"), ("num_gpus", "GPU"), ("memory", "memory")):
            most = max((node.get(name, 0.0) for node in self._nodes), default=0.0)
            if (wanted := options.get(key, 0)) > most:
                unit, shown = (2**30, "GiB of memory") if key == "memory" else (1, f"{name}s")
                raise UserError(
                    f"a run asks for {wanted / unit:g} {shown}, and no machine here has more than "
                    f"{most / unit:.3g}: lower resources.cpus, gpus or memory_gb"
                )


def _memory_of_a_gpu() -> float:
    @ray.remote(num_gpus=0.01, num_cpus=0, max_calls=1)
    def memory() -> float:
        import torch

        return torch.cuda.get_device_properties(0).total_memory / 2**30

    return ray.get(memory.remote())


def _make() -> Any:
    """What a worker does. It is sent by value: a worker cannot import jumpbench before its paths
    are set."""

    def make(job, environment, folder, *needs):
        import contextlib
        import os
        import sys

        for outcome in ("failed", "held"):  # of a run that this one needs
            if any(need[0] == outcome for need in needs):
                return outcome, ""
        os.environ.update(environment)
        with contextlib.suppress(OSError):
            os.chdir(folder)
        known = environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path += [path for path in known if path and path not in sys.path]
        from jumpbench.tables.launchers.ray_tasks import make_in_worker

        return make_in_worker(*job)

    return make


def make_in_worker(
    folder: str, config: dict[str, Any], labels: dict[str, str], threads: int
) -> tuple[str, str]:
    """Attempt a run in this process, or in one of each device; its outcome as plain words."""
    import torch

    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # of other processes, which Ray gives all cores
    job = Job(Path(folder), config, labels)
    ended = attempt(job, ToFile(job.folder))
    return ended.outcome.value, ended.message
