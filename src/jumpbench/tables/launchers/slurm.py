"""Runs as jobs of Slurm, by submitit: queued at once, requeued, resumed, asked from any shell."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import submitit
from filelock import FileLock
from submitit.core.utils import FailedJobError, FailedSubmissionError

from jumpbench.errors import UserError
from jumpbench.files import make_folder
from jumpbench.paths import outputs_root
from jumpbench.tables.launchers import Events, Labels, check_least
from jumpbench.tables.launchers.pending import Failures, pending
from jumpbench.tables.launchers.queue import QUEUE, queued_as, record_job
from jumpbench.tables.launchers.slurm_arrays import groups, jobs_needed, largest_array, parts
from jumpbench.tables.launchers.slurm_job import RunJob
from jumpbench.tables.launchers.slurm_wait import until_ended
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import ERROR
from jumpbench.tables.runs.job import Job
from jumpbench.tables.runs.resources import Resources
from jumpbench.tables.runs.store import is_finished

# A job's time covers the run's own limit, and what starting and saving take.
_MARGIN_MINUTES = 5


@dataclass(frozen=True)
class Slurm:
    """One job a run; runs of equal resources and needs are an array.

    Args:
        partition, account, qos, constraint: as of sbatch.
        minutes: time of a job. A run that takes longer saves and is queued again.
        restarts: how often one run is queued again for lack of time.
        warning: seconds before the end of its time at which a run is told to save.
        parallel: jobs of an array that run at once.
        setup: shell commands before the run, separated by semicolons (``module load cuda``).
        extra: further arguments of sbatch (``launcher.extra.reservation=NAME``).
        wait: return when all runs have ended, not when they are queued.

    Raises:
        UserError: an option out of its range, or there is no Slurm here.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    minutes: int = 240
    restarts: int = 20
    warning: int = 120
    parallel: int = 256
    setup: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    wait: bool = False

    def __post_init__(self) -> None:
        check_least(self, minutes=1, restarts=0, warning=1, parallel=1)
        if 60 * self.minutes <= self.warning:
            raise UserError(
                f"launcher.minutes={self.minutes}: a job must be longer than launcher.warning "
                f"({self.warning} s)"
            )
        if shutil.which("sbatch") is None:
            raise UserError("launcher=slurm: there is no sbatch here; call on a node of a cluster")

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None:
        left, failures = pending(runs, events, labels)
        make_folder(outputs_root())
        with FileLock(outputs_root() / ".slurm.lock"):  # two calls do not queue the same run
            QUEUE.ask()
            # A run may have ended since the caller looked.
            left = [run for run in left if not is_finished(run.folder)]
            new = [run for run in left if queued_as(run.folder) is None]
            arrays = self._submit(new, failures, labels)
        queued = len(left) - len(new)
        events.message(
            f"{len(new)} runs queued in {arrays} submissions"
            + (f", {queued} were queued before" if queued else "")
            + ("" if self.wait else "; see jumpbench status, and call again for the table")
        )
        if self.wait:
            until_ended([run for run in left if run not in failures], failures, events)

    def _submit(self, runs: Sequence[Run], failures: Failures, labels: Labels) -> int:
        """Queue runs behind the jobs of their needs; how many submissions it took."""
        submissions = 0
        for group in groups(runs, failures):
            for part in parts(group, largest_array()):
                for run in part:
                    Job(run.folder, run.placed(), labels.get(run.hash, {})).plan()
                try:
                    self._submit_array(part)
                except (FailedJobError, FailedSubmissionError, OSError) as error:
                    words = [line for line in str(error).splitlines() if "error" in line.lower()]
                    raise UserError(f"sbatch refused: {(words or [str(error)])[-1]}") from None
                submissions += 1
        return submissions

    def _submit_array(self, runs: Sequence[Run]) -> None:
        logs = make_folder(outputs_root() / "slurm" / date.today().isoformat())
        executor = submitit.AutoExecutor(
            folder=logs, cluster="slurm", slurm_max_num_timeout=self.restarts
        )
        executor.update_parameters(**self.parameters(runs[0]))
        save = max(self.warning - 30.0, self.warning / 2)
        jobs = [RunJob(str(run.folder), save) for run in runs]
        for run in runs:  # before a new job can begin, and say why it fails
            (run.folder / ERROR).unlink(missing_ok=True)
        with executor.batch():  # one job if it is one, else an array
            submitted = [executor.submit(job) for job in jobs]
        for run, job in zip(runs, submitted, strict=True):
            record_job(run.folder, job.job_id, job.paths.stderr)

    def parameters(self, run: Run) -> dict[str, Any]:
        """What submitit is told for a run, and for all of its array."""
        resources = Resources.of(run.config)
        minutes = self.minutes
        if resources.minutes is not None:
            minutes = min(minutes, math.ceil(resources.minutes) + _MARGIN_MINUTES)
        gpus = 1 if resources.gpus is None and resources.gpu_memory_gb else resources.gpus
        extra: dict[str, Any] = {"requeue": True, **self.extra}
        if needed := jobs_needed(run):
            extra |= {"dependency": "afterok:" + ":".join(needed), "kill-on-invalid-dep": "yes"}
        stated = {
            "name": f"jumpbench-{run.slug}", "timeout_min": minutes,
            "nodes": resources.machines, "tasks_per_node": 1, "cpus_per_task": resources.cpus,
            "mem_gb": resources.memory_gb, "gpus_per_node": gpus or None,
            "slurm_partition": self.partition, "slurm_account": self.account,
            "slurm_qos": self.qos, "slurm_constraint": self.constraint,
            "slurm_signal_delay_s": self.warning, "slurm_array_parallelism": self.parallel,
            "slurm_setup": [line.strip() for line in self.setup.split(";") if line.strip()] or None,
            "slurm_additional_parameters": extra,
            "slurm_srun_args": _of_srun(resources),
        }  # fmt: skip
        return {key: value for key, value in stated.items() if value is not None}


def _of_srun(resources: Resources) -> list[str]:
    """Arguments of srun, which from Slurm 22.05 on does not take over the cores of its job."""
    arguments = [f"--cpus-per-task={resources.cpus}"]
    if resources.machines > 1:  # where one machine's part fails, the others would wait for it
        arguments.append("--kill-on-bad-exit=1")
    return arguments
