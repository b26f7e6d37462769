"""One attempt at one run: what every launcher does on the machine that makes it.

The run's folder carries all that is needed: ``config.yaml`` (folders of needed runs filled in) and
``labels.json`` (what an experiment logger calls it). While a run is made, its lock is held and
``begun.json`` says by whom; a ``begun.json`` without a lock is what a process leaves behind that
was killed.
"""

import contextlib
import enum
import json
import os
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import Timeout

from jumpbench.errors import UserError
from jumpbench.tables.held import held
from jumpbench.tables.machines import opened
from jumpbench.tables.resources import time_limit
from jumpbench.tables.store import (
    read_config,
    read_failure,
    read_json,
    read_metrics,
    record_failure,
    write_config,
    write_json,
)

POLL_SECONDS = 0.5
PROGRESS = "progress.json"
STOPPED = 130
"""Exit status of a process that was asked to stop, as of one that SIGINT ended in a shell."""


class Outcome(enum.Enum):
    FINISHED = "finished"
    FAILED = "failed"
    HELD = "held"  # another process is making it


@dataclass(frozen=True)
class Ended:
    """How an attempt ended; ``message`` is one line where it failed."""

    outcome: Outcome
    message: str = ""


@dataclass(frozen=True)
class Job:
    """A run as the place that makes it sees it.

    Args:
        config: plain, folders of needed runs filled in.
        labels: table, row, column and scale that the run belongs to.
        spent: seconds of its time limit that earlier attempts have taken.
    """

    folder: Path
    config: dict[str, Any] = field(repr=False)
    labels: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0

    def plan(self) -> None:
        """Write what :meth:`planned` reads."""
        write_config(self.folder, self.config)
        write_json(self.folder / "labels.json", self.labels)

    @staticmethod
    def planned(folder: Path, spent: float = 0.0) -> "Job":
        """The job that is described in its folder.

        Raises:
            UserError: nothing is.
        """
        config = read_config(folder)
        labels = read_json(folder / "labels.json", "delete it") if _labelled(folder) else {}
        return Job(folder, config, labels, spent)


def attempt(job: Job, watch: Any = None) -> Ended:
    """Make a run unless it is made, or another process is making it; one that fails or is refused
    has an ``error.json`` that says why.

    Args:
        watch: told about progress (``progress(stage, done, total)``) and, if it has ``started``,
            when work begins.
    """
    try:
        if read_metrics(job.folder) is not None:
            return Ended(Outcome.FINISHED)
        with held(job.folder):
            if read_metrics(job.folder) is not None:
                return Ended(Outcome.FINISHED)
            if watch is not None and hasattr(watch, "started"):
                watch.started()
            ended = _make(job, watch)
    except Timeout:
        return Ended(Outcome.HELD)
    except UserError as error:
        record_failure(job.folder, type(error).__name__, str(error))
        return Ended(Outcome.FAILED, str(error))
    if ended.outcome is Outcome.FAILED and read_failure(job.folder) is None:
        record_failure(job.folder, "RunFailed", ended.message)
    return ended


def was_killed(folder: Path) -> bool:
    """Whether the last attempt ended without a word, such as by the system for lack of memory."""
    return os.path.exists(folder / "begun.json")


def forget(folders: Sequence[Path]) -> None:
    """Take away what runs have measured, saved and drawn, so that they are made again.

    Raises:
        UserError: a process is making one of them, or its lock cannot be had.
    """
    with contextlib.ExitStack() as locks:
        there = [folder for folder in folders if folder.is_dir()]
        for folder in there:  # all or none
            try:
                locks.enter_context(held(folder))
            except Timeout:
                raise UserError(f"{folder.name} is being made now; wait for it to end") from None
        for folder in there:
            for name in ("metrics.json", "error.json", "begun.json", "samples.pt", "mirror.json"):
                (folder / name).unlink(missing_ok=True)
            for name in ("checkpoints", "draws", "training"):
                shutil.rmtree(folder / name, ignore_errors=True)


def make_here(job: Job, watch: Any = None) -> Ended:
    """Make a run in this process, whose caller holds its lock."""
    from jumpbench.tables.execute import RunFailed, execute

    try:
        execute(job.folder, job.config, watch or ToFile(job.folder), job.labels)
    except (UserError, RunFailed) as error:
        return Ended(Outcome.FAILED, str(error))
    return Ended(Outcome.FINISHED)


WRITTEN = ("log.txt", "output.txt", "training", "checkpoints", "draws", "figures")


def refuse_links(folder: Path) -> None:
    """A run writes into its own folder, also where somebody else packed that.

    Raises:
        UserError: a file or folder that it adds to is a link.
    """
    for name in WRITTEN:
        if (folder / name).is_symlink():
            raise UserError(f"{folder / name} is a link, which no run makes; delete it")


def _make(job: Job, watch: Any) -> Ended:
    from jumpbench.tables.children import make_in_child
    from jumpbench.tables.devices import world_size

    refuse_links(job.folder)
    limit = time_limit(job.config)
    meeting = opened(job.config["trainer"])
    begun = {"pid": os.getpid(), "host": socket.gethostname(), "time": time.time()}
    (job.folder / "error.json").unlink(missing_ok=True)  # of an earlier attempt
    write_json(job.folder / "begun.json", begun | ({"meeting": meeting} if meeting else {}))
    try:
        if world_size(job.config["trainer"]) == 1 and limit is None:
            return make_here(job, watch)
        return make_in_child(job, watch, None if limit is None else limit - job.spent, meeting)
    finally:  # also after an interrupt; only a process that is killed leaves it behind
        for name in (PROGRESS, "begun.json"):
            (job.folder / name).unlink(missing_ok=True)


class ToFile:
    """A watch for another process: ``progress.json``, twice a second."""

    def __init__(self, folder: Path) -> None:
        self._path, self._told = folder / PROGRESS, 0.0

    def progress(self, stage: str, done: int, total: int | None) -> None:
        first_process = os.environ.get("LOCAL_RANK", "0") == os.environ.get("NODE_RANK", "0") == "0"
        if first_process and time.monotonic() - self._told >= POLL_SECONDS:
            self._told = time.monotonic()
            with contextlib.suppress(UserError, OSError):  # a full disk is reported by the run
                write_json(self._path, {"stage": stage, "done": done, "total": total})


def tell_progress(folder: Path, watch: Any) -> None:
    """Tell a watch, if there is one, what another process has left by :class:`ToFile`."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads((folder / PROGRESS).read_text())
        if watch is not None:
            watch.progress(told["stage"], told["done"], told["total"])


def _labelled(folder: Path) -> bool:
    return os.path.isfile(folder / "labels.json")
