"""What a job of Slurm does: it starts the run as a process, and has it saved when time is up."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from jumpbench.tables.runs import OUTPUT
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.job import STOPPED
from jumpbench.tables.runs.machines import PARTY, joined
from jumpbench.tables.runs.store import read_metrics

POLL_SECONDS = 0.5
REQUEUE_SECONDS = 60.0
_STOPPED = (STOPPED, -signal.SIGTERM)


class RunJob:
    """A callable for submitit; requeued jobs go on where :meth:`checkpoint` left the run.

    On several nodes every one of them calls it; only the first is told to save, and tells the
    others by the run's own processes.

    Args:
        folder: of a planned run.
        save_seconds: how long the run may take to save when the job must go.
        spent: seconds that earlier jobs have worked on it, for its time limit.
    """

    def __init__(self, folder: str, save_seconds: float, spent: float = 0.0) -> None:
        self.folder, self.save_seconds, self.spent = folder, save_seconds, spent

    def __call__(self) -> None:
        """Raises RuntimeError where the run fails, so that jobs that need it are cancelled."""
        self.began = time.monotonic()
        folder, node = Path(self.folder), int(os.environ.get("SLURM_NODEID", "0"))
        # Under this name Lightning takes the job for a shell, and starts its processes by itself.
        environment = os.environ | {"SLURM_JOB_NAME": "bash", PARTY: _party()}
        arguments = ["--patient", "--spent", str(self.spent), "--saving", str(self.save_seconds)]
        if node > 0:
            if (meeting := _awaited(folder, node)) is None:
                return
            environment, arguments = environment | meeting, ["--held"]
        command = [sys.executable, "-m", "jumpbench.tables.runs", self.folder, *arguments]
        with (folder / OUTPUT).open("ab") as output:
            self.child = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, preexec_fn=_deaf
            )
            while (status := self._status()) is None:
                time.sleep(POLL_SECONDS)
        if status in _STOPPED:
            time.sleep(REQUEUE_SECONDS)  # the signal that requeues this job is on its way
        if status != 0 or (node == 0 and read_metrics(folder) is None):
            raise RuntimeError(read_failure(folder) or f"the run ended with status {status}")

    def _status(self) -> int | None:
        """Exit status of the run's process, or None while it works.

        Not by ``Popen.poll``: a signal may come in the midst of it, and its lock would be held.
        """
        if getattr(self, "ended", None) is None:
            self.ended: int | None = None
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.child.pid, os.WNOHANG)
                if pid:
                    self.ended = os.waitstatus_to_exitcode(status)
        return self.ended

    def checkpoint(self) -> Any:
        """The run is stopped, saves, and is submitted again; called from a signal's handler."""
        from submitit.helpers import DelayedSubmission

        if (child := getattr(self, "child", None)) is not None:
            end = time.monotonic() + self.save_seconds
            child.send_signal(signal.SIGTERM)
            while self._status() is None and time.monotonic() < end:
                time.sleep(POLL_SECONDS)
            if self._status() is None:
                child.send_signal(signal.SIGKILL)
        spent = self.spent + time.monotonic() - getattr(self, "began", time.monotonic())
        return DelayedSubmission(RunJob(self.folder, self.save_seconds, spent))


def _party() -> str:
    """The nodes of this job, as often as it was queued."""
    return f"{os.environ.get('SLURM_JOB_ID')}.{os.environ.get('SLURM_RESTART_COUNT', '0')}"


def _awaited(folder: Path, node: int) -> dict[str, str] | None:
    """How to join the attempt of the first node; None if there is nothing left to do."""
    while read_metrics(folder) is None:
        if meeting := joined(folder, _party(), node):
            return meeting
        time.sleep(POLL_SECONDS)
    return None


def _deaf() -> None:
    """The signals by which Slurm warns a job are for the job alone, not for the run's process."""
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
