"""Jobs of Slurm: which one makes a run, and what the scheduler says of it."""

import contextlib
import getpass
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import JOB, METRICS
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.store import read_json, write_json

ASKED_SECONDS = 2.0
_RUNNING = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"}


class Queue:
    """This user's jobs that have not ended, asked of the scheduler every few seconds at most."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._asked: float | None = None

    def state(self, job: str | None) -> str | None:
        """``running`` or ``queued``; None for a job that has ended, or where there is no Slurm.

        Raises:
            UserError: the scheduler does not answer.
        """
        if job is None or shutil.which("squeue") is None:
            return None
        if self._asked is None or time.monotonic() - self._asked >= ASKED_SECONDS:
            self.ask()
        state = self._states.get(job)
        return None if state is None else "running" if state in _RUNNING else "queued"

    def ask(self) -> None:
        command = ["squeue", "--noheader", "--array", "--format=%i %T", "--user", getpass.getuser()]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            raise UserError(
                f"squeue failed: {words[-1] if words else error}; is the scheduler up?"
            ) from None
        self._states = dict(line.split() for line in answer.stdout.splitlines() if line.strip())
        self._asked = time.monotonic()


QUEUE = Queue()


def queued_as(folder: Path) -> str | None:
    """The state of the job that makes the run in ``folder``; None if there is none, or it ended."""
    return QUEUE.state(job_of(folder).get("id"))


def job_of(folder: Path) -> dict[str, Any]:
    """``id`` and ``log`` of the last job that was submitted for a run; empty if there is none, or
    its file holds something else."""
    with contextlib.suppress(UserError):
        job = read_json(folder / JOB, "delete it")
        if isinstance(job, dict) and isinstance(job.get("id"), str):
            return job
    return {}


def which_failed(need: Run) -> str:
    """Why a run is not made for which ``need`` failed."""
    why = read_failure(need.folder)
    return f"it needs {need.id}, which failed" + (f": {why}" if why else "")


def why_ended(run: Run) -> str:
    """Why a run whose job has ended is not made, where it left no word itself."""
    for need in run.needs.values():
        if not (need.folder / METRICS).exists() and queued_as(need.folder) is None:
            return which_failed(need)
    job = job_of(run.folder)
    return f"its job {job.get('id')} ended without a result (see {job.get('log')})"


def has_lost_its_job(folder: Path) -> bool:
    """Whether a job was to make the run and is gone, as far as can be told from here."""
    there_is_slurm = shutil.which("squeue") is not None
    return there_is_slurm and bool(job_of(folder)) and queued_as(folder) is None


def record_job(folder: Path, job: str, log: Path) -> None:
    write_json(folder / JOB, {"id": job, "log": str(log), "submitted": time.time()})
