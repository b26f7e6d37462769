"""Runs as tasks of Ray: packed on the cores and GPUs of this machine, or of a cluster."""

import contextlib
import functools
import logging
import math
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from jumpbench.errors import UserError
from jumpbench.tables.launchers import Events, Labels, check_least
from jumpbench.tables.launchers.pending import Failures, pending
from jumpbench.tables.launchers.ray_tasks import Tasks
from jumpbench.tables.launchers.watching import Watching
from jumpbench.tables.planning.run import Run
from jumpbench.tables.price.kept import gpu_memory_gb
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.job import SAVE_SECONDS, Outcome
from jumpbench.tables.runs.resources import Resources

POLL_SECONDS = 0.5
HELD_SECONDS = 2.0
# Variables that the runs of a cluster get from this process, by their beginning.
_PASSED = ("JUMPBENCH_", "WANDB_", "PYTHONPATH")
_STORE_BYTES = 2**27  # results are a word each; the least that Ray takes is 75 MiB


@dataclass(frozen=True)
class Ray:
    """One task a run, with the results of the runs that it needs as its dependencies.

    Args:
        address: of a cluster (``auto``: the one that runs here); None: Ray starts on this machine.
        cpus, gpus: what of this machine it may use; None: all. A cluster has its own.
        retries: how often a run whose worker or node died is made again, from its last checkpoint.
        gpu_memory_gb: memory of one GPU in GiB; None: asked of one.
        env: further variables of the environment that runs get, separated by commas.

    Raises:
        UserError: an option out of its range.
    """

    address: str | None = None
    cpus: int | None = None
    gpus: int | None = None
    retries: int = 3
    gpu_memory_gb: float | None = None
    env: str = ""

    def __post_init__(self) -> None:
        check_least(self, cpus=1, gpus=0, retries=0)
        if self.gpu_memory_gb is not None and not 0 < self.gpu_memory_gb < math.inf:
            raise UserError(f"launcher.gpu_memory_gb={self.gpu_memory_gb}: give a number above 0")

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None:
        left, failures = pending(runs, events, labels)
        if left:
            with self._connected(), Interrupts():
                _Call(self, failures, events, labels).make(left)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        if self.address is None:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            where: dict[str, Any] = {
                "address": "local", "num_cpus": self.cpus, "num_gpus": self.gpus,
                "object_store_memory": _STORE_BYTES, "include_dashboard": False,
                "_system_config": {"task_oom_retries": self.retries, "worker_niceness": 0},
            }  # fmt: skip
        else:
            where = {"address": self.address}
        if joined := not ray.is_initialized():
            try:
                _answers(self.address)
                ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, ValueError, RuntimeError) as error:
                words = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise UserError(
                    f"launcher.address={self.address}: {words}; start a cluster with 'ray start "
                    "--head', or leave out launcher.address for this machine alone"
                ) from None
        try:
            yield
        finally:
            if joined:
                ray.shutdown()

    def passed(self) -> dict[str, str]:
        """The part of this environment that runs get."""
        named = {name.strip() for name in self.env.split(",")}
        return {k: v for k, v in os.environ.items() if k.startswith(_PASSED) or k in named}


class _Call:
    """The runs of one call, as tasks."""

    def __init__(self, place: Ray, failures: Failures, events: Events, labels: Labels) -> None:
        self._place, self._failures, self._events, self._labels = place, failures, events, labels
        self._watching = Watching(events)
        self._environment = place.passed()
        self._refs: dict[str, Any] = {}  # by the hash of a run: its latest task
        self._stopped: Counter[str] = Counter()
        self._tasks = Tasks(place.gpu_memory_gb, grows=place.address is not None)

    def make(self, runs: Sequence[Run]) -> None:
        order = {run.hash: i for i, run in enumerate(runs)}
        open_tasks: dict[Any, Run] = {}
        held: list[Run] = []
        try:
            for run in runs:
                self._submit(run, open_tasks)
            last_look = time.monotonic()
            while open_tasks or held:
                tasks = list(open_tasks)
                ready = _ready(tasks)
                ended = [(open_tasks.pop(task), task) for task in ready]
                for run, task in sorted(ended, key=lambda pair: order[pair[0].hash]):
                    if self._ended(run, task) is Outcome.HELD:
                        held.append(run)
                self._watching.look(open_tasks.values())
                if held and time.monotonic() - last_look >= HELD_SECONDS:
                    again = sorted(held, key=lambda run: order[run.hash])
                    self._events.waiting(again[0])
                    held, last_look = [], time.monotonic()
                    for run in again:
                        self._submit(run, open_tasks)
        except BaseException:
            self._cancel(list(open_tasks))
            raise

    def _submit(self, run: Run, open_tasks: dict[Any, Run]) -> None:
        """Start a task for a run, behind the latest ones of the runs that it needs."""
        if self._failures.reached(run):
            return
        try:
            resources = Resources.of(run.config)
            function, options = self._tasks.by(resources, functools.partial(gpu_memory_gb, run))
        except UserError as error:
            self._failures.refuse(run, str(error), type(error).__name__)
            return
        needs = [self._refs[n.hash] for n in run.needs.values() if n.hash in self._refs]
        threads = max(1, resources.cpus // resources.devices)  # of the process of each device
        job = (str(run.folder), run.placed(), self._labels.get(run.hash, {}), threads)
        task = function.options(name=run.id, max_retries=self._place.retries, **options).remote(
            job, self._environment, str(Path.cwd()), *needs
        )
        self._refs[run.hash] = task
        open_tasks[task] = run

    def _ended(self, run: Run, task: Any) -> Outcome:
        try:
            said, message = ray.get(task)
            outcome = Outcome(said)
        except ray.exceptions.TaskCancelledError:  # its worker was asked to stop, and saved
            self._stopped[run.hash] += 1
            if self._stopped[run.hash] <= self._place.retries:
                return Outcome.HELD
            outcome, message = Outcome.FAILED, "its worker was stopped again and again"
        except ray.exceptions.RayError as error:
            outcome, message = Outcome.FAILED, _lost(error, self._place.retries)
        if outcome is Outcome.FINISHED:
            self._watching.started(run)
            self._events.finished(run)
        elif outcome is Outcome.FAILED and not self._failures.reached(run):
            self._failures.lose(run, message)
        return outcome

    def _cancel(self, tasks: list[Any]) -> None:
        """Stop all tasks, the waiting ones first; those that run save a checkpoint."""
        for task in reversed(tasks):
            ray.cancel(task)
        if tasks:
            ray.wait(tasks, num_returns=len(tasks), timeout=SAVE_SECONDS)


def _answers(address: str | None) -> None:
    """Raises OSError where HOST:PORT does not, for which Ray itself would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "://" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()


def _ready(tasks: list[Any]) -> list[Any]:
    """Those that have ended, after half a second at most unless all have."""
    if not tasks:
        time.sleep(POLL_SECONDS)
        return []
    return ray.wait(tasks, num_returns=len(tasks), timeout=POLL_SECONDS)[0]


def _lost(error: Exception, retries: int) -> str:
    """One line for a task that Ray gave up."""
    if isinstance(error, ray.exceptions.RayTaskError):
        cause = getattr(error, "cause", None) or error
        return f"its worker failed: {type(cause).__name__}: {str(cause).strip().splitlines()[-1]}"
    kind = type(error).__name__
    return f"its worker or node died, also when it was tried again {retries} times ({kind})"
