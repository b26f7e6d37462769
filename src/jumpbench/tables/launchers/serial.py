"""One run after the other, in this process."""

import time
from collections.abc import Sequence

from jumpbench.errors import UserError
from jumpbench.tables.attempt import Ended, Job, Outcome, attempt, was_killed
from jumpbench.tables.constructors import check_signatures
from jumpbench.tables.launchers import Events, Labels
from jumpbench.tables.plan import Run
from jumpbench.tables.store import read_metrics

POLL_SECONDS = 0.5


class Serial:
    """Makes runs in plan order; one that another process holds is left for later, then awaited.

    A run whose last attempt was killed comes last: if it takes the process with it again, all
    others are made.
    """

    def launch(self, runs: Sequence[Run], events: Events, labels: Labels) -> None:
        failed: set[str] = set()
        for run in runs:
            if message := _cannot_be_built(run):
                failed.add(run.hash)
                events.failed(run, message)
        for run in _only_needed_by(failed, runs, labels):
            failed.add(run.hash)
            events.failed(run, "not made: no run that needs it can be made")
        pending = _killed_last([run for run in runs if run.hash not in failed], events)
        while pending:
            held: list[Run] = []
            for run in pending:
                if bad := [need for need in run.needs.values() if need.hash in failed]:
                    failed.add(run.hash)
                    events.failed(run, f"it needs {bad[0].id}, which failed")
                elif any(need in held for need in run.needs.values()):
                    held.append(run)
                else:
                    ended = self._make(run, events, labels)
                    if ended.outcome is Outcome.HELD:
                        held.append(run)
                    elif ended.outcome is Outcome.FAILED:
                        failed.add(run.hash)
            if held and len(held) == len(pending):
                events.waiting(held[0])
                time.sleep(POLL_SECONDS)
            pending = held

    def _make(self, run: Run, events: Events, labels: Labels) -> Ended:
        job = Job(run.folder, run.placed(), labels.get(run.hash, {}))
        ended = attempt(job, _Watch(run, events))
        if ended.outcome is Outcome.FINISHED:
            events.finished(run)
        elif ended.outcome is Outcome.FAILED:
            events.failed(run, ended.message)
        return ended


class _Watch:
    """A watch of one run, told to the events of all."""

    def __init__(self, run: Run, events: Events) -> None:
        self._run, self._events = run, events

    def started(self) -> None:
        self._events.started(self._run)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._events.progress(self._run, stage, done, total)


def _cannot_be_built(run: Run) -> str | None:
    """Why a run that is not made yet would fail before its first step; None if nothing is seen.

    Told before the runs that it needs are made.
    """
    try:
        if read_metrics(run.folder) is None:
            check_signatures(run.config)
    except UserError as error:
        return str(error)
    return None


def _only_needed_by(failed: set[str], runs: Sequence[Run], labels: Labels) -> list[Run]:
    """Runs that nobody asked for by themselves, and that only runs which cannot be made need."""
    users: dict[str, list[str]] = {}
    for run in runs:
        for need in run.needs.values():
            users.setdefault(need.hash, []).append(run.hash)
    useless: list[Run] = []
    gone = set(failed)
    for run in reversed(runs):  # a run stands behind its needs
        mine = users.get(run.hash, [])
        if mine and run.hash not in labels and run.hash not in gone and gone.issuperset(mine):
            gone.add(run.hash)
            useless.append(run)
    return useless


def _killed_last(runs: list[Run], events: Events) -> list[Run]:
    """Runs that were killed, and those that need them, behind all others."""
    late: dict[str, Run] = {}
    for run in runs:
        if was_killed(run.folder):
            late[run.hash] = run
            events.noted(run, "its last attempt was killed (out of memory?); it is tried last")
        elif any(need.hash in late for need in run.needs.values()):
            late[run.hash] = run
    return [run for run in runs if run.hash not in late] + list(late.values())
