"""One run after the other, in this process."""

import time
from collections.abc import Sequence

from jumpbench.tables.launchers import Events, Labels
from jumpbench.tables.launchers.pending import Failures, pending
from jumpbench.tables.launchers.watching import OfOne
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Ended, Job, Outcome
from jumpbench.tables.runs.memory import many_runs

POLL_SECONDS = 0.5


class Serial:
    """Makes runs in plan order; one that another process holds is left for later, then awaited.

    A run whose last attempt was killed comes last: if it takes the process with it again, all
    others are made.
    """

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None:
        left, failures = pending(runs, events, labels)
        with many_runs():
            self._make_all(left, failures, events, labels)

    def _make_all(
        self, left: list[Run], failures: Failures, events: Events, labels: Labels
    ) -> None:
        while left:
            held: list[Run] = []
            for run in left:
                if failures.reached(run):
                    continue
                if any(need in held for need in run.needs.values()):
                    held.append(run)
                    continue
                ended = self._make(run, events, labels)
                if ended.outcome is Outcome.HELD:
                    held.append(run)
                elif ended.outcome is Outcome.FAILED:
                    failures.add(run, ended.message)
            if held and len(held) == len(left):
                events.waiting(held[0])
                time.sleep(POLL_SECONDS)
            left = held

    def _make(self, run: Run, events: Events, labels: Labels) -> Ended:
        job = Job(run.folder, run.placed(), labels.get(run.hash, {}))
        ended = attempt(job, _Watch(run, events))
        if ended.outcome is Outcome.FINISHED:
            events.finished(run)
        return ended


class _Watch(OfOne):
    def started(self) -> None:
        self._events.started(self._run)
