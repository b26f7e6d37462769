"""One attempt at one run: what every launcher does on the machine that makes it.

The run's folder carries all that is needed: ``config.yaml`` (folders of needed runs filled in) and
``labels.json`` (what an experiment logger calls it). While a run is made, its lock is held and
``begun.json`` says by whom; a ``begun.json`` without a lock is what a process leaves behind that
was killed.
"""

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import Timeout

from jumpbench.errors import UserError
from jumpbench.tables.runs import (
    ATTEMPTS,
    BEGUN,
    CHECKPOINTS,
    DRAWS,
    ERROR,
    LOG,
    METRICS,
    MIRROR,
    OUTPUT,
    SAMPLES,
    TRAINING,
)
from jumpbench.tables.runs.failures import read_failure, record_failure
from jumpbench.tables.runs.held import held
from jumpbench.tables.runs.job import PROGRESS, Ended, Job, Outcome, ToFile
from jumpbench.tables.runs.machines import opened
from jumpbench.tables.runs.resources import time_limit
from jumpbench.tables.runs.store import read_metrics, write_json


def attempt(job: Job, watch: Any = None) -> Ended:
    """Make a run unless it is made, or another process is making it; one that fails or is refused
    has an ``error.json`` that says why.

    Args:
        watch: told about progress (``progress(stage, done, total, watched)``) and, if it has
            ``started``, when work begins.
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
    """Whether the last attempt ended without a word, such as by the system for lack of memory,
    and no process makes the run now."""
    if not os.path.exists(folder / BEGUN):
        return False
    try:
        with held(folder):
            return os.path.exists(folder / BEGUN)
    except Timeout:
        return False
    except UserError:  # it will be told when the run is attempted
        return True


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
            for name in (METRICS, ERROR, BEGUN, ATTEMPTS, SAMPLES, MIRROR):
                (folder / name).unlink(missing_ok=True)
            for name in (CHECKPOINTS, DRAWS, TRAINING):
                shutil.rmtree(folder / name, ignore_errors=True)


def make_here(job: Job, watch: Any = None) -> Ended:
    """Make a run in this process, whose caller holds its lock."""
    from jumpbench.tables.runs.execute import execute
    from jumpbench.tables.runs.failures import RunFailed

    try:
        execute(job.folder, job.config, ToFile(job.folder, watch), job.labels)
    except (UserError, RunFailed) as error:
        return Ended(Outcome.FAILED, str(error))
    return Ended(Outcome.FINISHED)


WRITTEN = (LOG, OUTPUT, TRAINING, CHECKPOINTS, DRAWS, "figures")


def refuse_links(folder: Path) -> None:
    """A run writes into its own folder, also where somebody else packed that.

    Raises:
        UserError: a file or folder that it adds to is a link.
    """
    for name in WRITTEN:
        if (folder / name).is_symlink():
            raise UserError(f"{folder / name} is a link, which no run makes; delete it")


def _make(job: Job, watch: Any) -> Ended:
    from jumpbench.tables.runs.children import make_in_child
    from jumpbench.tables.runs.devices import world_size

    refuse_links(job.folder)
    limit = time_limit(job.config)
    meeting = opened(job.config["trainer"])
    begun = {"pid": os.getpid(), "host": socket.gethostname(), "time": time.time()}
    (job.folder / ERROR).unlink(missing_ok=True)  # of an earlier attempt
    write_json(job.folder / BEGUN, begun | ({"meeting": meeting} if meeting else {}))
    try:
        if world_size(job.config["trainer"]) == 1 and limit is None:
            return make_here(job, watch)
        return make_in_child(job, watch, None if limit is None else limit - job.spent, meeting)
    finally:  # also after an interrupt; only a process that is killed leaves it behind
        for name in (PROGRESS, BEGUN):
            (job.folder / name).unlink(missing_ok=True)
