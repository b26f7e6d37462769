"""A run in a process of its own: on several devices, or with a time limit."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from jumpbench.tables.runs import ERROR, OUTPUT
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.job import (
    POLL_SECONDS,
    PROGRESS,
    STOPPED,
    Ended,
    Job,
    Outcome,
    tell_progress,
)
from jumpbench.tables.runs.store import read_metrics, write_json

_PR_SET_PDEATHSIG = 1


def make_in_child(
    job: Job, watch: Any, limit: float | None, meeting: Mapping[str, str] | None = None
) -> Ended:
    """Make a run by ``python -m jumpbench.tables.runs``; the caller holds its lock.

    Distributed training starts its other processes by repeating the command line, which must
    therefore be that of the run alone.

    Args:
        limit: seconds after which it is stopped (it saves a checkpoint if it can) and has failed.
        meeting: variables of its environment by which processes on other machines join it.
    """
    job.plan()
    (job.folder / PROGRESS).unlink(missing_ok=True)
    command = [sys.executable, "-m", "jumpbench.tables.runs", str(job.folder), "--held"]
    end = None if limit is None else time.monotonic() + limit
    late = False
    with Interrupts(), (job.folder / OUTPUT).open("ab") as output:
        child = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **(meeting or {})}
        )
        try:
            while child.poll() is None and not late:
                tell_progress(job.folder, watch)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(POLL_SECONDS)
                late = end is not None and time.monotonic() > end
        finally:
            stop(child, job.saving)
    if read_metrics(job.folder) is not None and (late or child.returncode == 0):
        return Ended(Outcome.FINISHED)
    if late:
        return Ended(Outcome.FAILED, _out_of_time(job))
    if child.returncode == STOPPED:
        raise KeyboardInterrupt
    ended = f"its process ended with status {child.returncode} (see {job.folder / 'log.txt'})"
    return Ended(Outcome.FAILED, read_failure(job.folder) or ended)


def stop(child: subprocess.Popen, seconds: float) -> None:
    """End a process: first it is asked, and saves a checkpoint."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        child.kill()
        child.wait()


def end_with_parent() -> None:
    """Have the system kill this process when the one that started it dies, and with it its lock.

    Only Linux can; elsewhere nothing happens.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _out_of_time(job: Job) -> str:
    minutes = job.config["resources"]["minutes"]
    message = (
        f"it was stopped after resources.minutes={minutes}; call again to go on from what it "
        "saved, with more minutes if it needs them"
    )
    write_json(job.folder / ERROR, {"kind": "TimeLimit", "message": message})
    return message
