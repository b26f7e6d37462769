"""One run after the other, in this process."""

import subprocess
import sys
import time
from collections.abc import Sequence

from filelock import Timeout
from omegaconf import OmegaConf

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.tables.launchers import Events, Labels
from jumpbench.tables.plan import Run
from jumpbench.tables.store import read_failure, read_metrics, run_lock

POLL_SECONDS = 0.5


class Serial:
    """Makes runs in plan order; one that another process holds is left for later, then awaited."""

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None:
        pending, failed = list(runs), set[str]()
        while pending:
            held: list[Run] = []
            for run in pending:
                if bad := [need for need in run.needs.values() if need.hash in failed]:
                    failed.add(run.hash)
                    events.failed(run, f"it needs {bad[0].id}, which failed")
                elif (
                    any(need in held for need in run.needs.values())
                    or (made := self._attempt(run, events, labels)) is None
                ):
                    held.append(run)
                elif not made:
                    failed.add(run.hash)
            if len(held) == len(pending):
                events.waiting(held[0])
                time.sleep(POLL_SECONDS)
            pending = held

    def _attempt(self, run: Run, events: Events, labels: Labels) -> bool | None:
        """True: the run is finished; False: it failed; None: another process is making it."""
        from jumpbench.tables.execute import RunFailed

        try:
            if read_metrics(run.folder) is not None:
                events.finished(run)
                return True
            with run_lock(run.folder).acquire(timeout=0):
                if read_metrics(run.folder) is None:
                    events.started(run)
                    _make(run, events, labels.get(run.hash, {}))
                events.finished(run)
                return True
        except Timeout:
            return None
        except (UserError, RunFailed) as error:
            events.failed(run, str(error))
            return False


class _Progress:
    """A watch of one run, told to the events of all."""

    def __init__(self, run: Run, events: Events) -> None:
        self._run, self._events = run, events

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._events.progress(self._run, stage, done, total)


def _make(run: Run, events: Events, labels: dict[str, str]) -> None:
    from jumpbench.tables.execute import RunFailed, execute
    from jumpbench.tables.training import world_size

    if world_size(run.config["trainer"]) == 1:
        execute(run.folder, run.placed(), _Progress(run, events), labels)
        return
    # Distributed training starts its other processes by repeating this process's command line,
    # which must therefore be that of the run alone.
    text = OmegaConf.to_yaml(OmegaConf.create(run.placed()))
    write_atomic(run.folder / "config.yaml", text)
    command = [sys.executable, "-m", "jumpbench.tables.execute", str(run.folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or read_metrics(run.folder) is None:
        raise RunFailed(read_failure(run.folder) or f"it stopped (see {run.folder / 'log.txt'})")
