"""Waiting for jobs of Slurm: until every run has finished, or its job has gone without."""

import time
from collections.abc import Sequence

from jumpbench.errors import UserError
from jumpbench.tables.launchers import Events
from jumpbench.tables.launchers.pending import Failures
from jumpbench.tables.launchers.queue import QUEUE, queued_as, why_ended
from jumpbench.tables.launchers.watching import Watching
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.store import is_finished

POLL_SECONDS = 5.0
GONE_SECONDS = 90.0
"""After so many a run whose job is gone is lost."""
PATIENCE = 20
"""So many times in a row the scheduler may not answer."""


def until_ended(runs: Sequence[Run], failures: Failures, events: Events) -> None:
    """Until every run has finished, or its job has gone without."""
    left, watching = list(runs), Watching(events)
    gone_at: dict[str, float] = {}
    unanswered = 0
    while left:
        try:
            QUEUE.ask()
            unanswered = 0
        except UserError:
            unanswered += 1
            if unanswered > PATIENCE:
                raise
            time.sleep(POLL_SECONDS)
            continue
        now = time.monotonic()
        there = [run.hash for run in left if queued_as(run.folder) is not None]
        gone_at = {r.hash: gone_at.get(r.hash, now) for r in left if r.hash not in there}
        # Without a word of why: the numbers of a finished run may be seen a while later, over a
        # file system of a network.
        gone = [
            run for run in left if run.hash in gone_at
            and (read_failure(run.folder) or now - gone_at[run.hash] >= GONE_SECONDS)
        ]  # fmt: skip
        watching.look(left)
        for run in [run for run in left if is_finished(run.folder)]:
            left.remove(run)
            watching.started(run)
            events.finished(run)
        for run in gone:
            if run in left:
                left.remove(run)
                if not failures.reached(run):
                    failures.lose(run, read_failure(run.folder) or why_ended(run))
        if left:
            time.sleep(POLL_SECONDS)
