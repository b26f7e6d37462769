"""What every launcher decides before it makes anything, and which runs cannot be made any more."""

from collections.abc import Sequence

from jumpbench.errors import UserError
from jumpbench.tables.launchers import Events, Labels
from jumpbench.tables.launchers.queue import which_failed
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.signatures import check_files, check_signatures
from jumpbench.tables.runs.attempt import was_killed
from jumpbench.tables.runs.failures import failure_kind, read_failure, record_failure
from jumpbench.tables.runs.resources import Resources
from jumpbench.tables.runs.store import read_metrics


class Failures:
    """Runs that cannot be made, each told once; whatever needs one of them fails with it.

    Why they cannot is left in their folders, where cells and ``status`` look for it.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._hashes: set[str] = set()

    def __contains__(self, run: Run) -> bool:
        return run.hash in self._hashes

    def add(self, run: Run, message: str) -> None:
        """A run whose folder says why it failed, if anything does."""
        self._hashes.add(run.hash)
        self._events.failed(run, message)

    def refuse(self, run: Run, message: str, kind: str) -> None:
        """A run that nothing was tried for; ``kind`` is the name of the exception."""
        record_failure(run.folder, kind, message)
        self.add(run, message)

    def lose(self, run: Run, message: str) -> None:
        """A run that ended elsewhere, maybe without a word in its folder."""
        if read_failure(run.folder) is None:
            record_failure(run.folder, "RunFailed", message)
        self.add(run, message)

    def reached(self, run: Run) -> bool:
        """Whether the run has failed, or fails now because of a run that it needs."""
        if run not in self:
            bad = next((need for need in run.needs.values() if need in self), None)
            if bad is not None:
                self.refuse(run, which_failed(bad), failure_kind(bad.folder))
        return run in self


def pending(runs: Sequence[Run], events: Events, labels: Labels) -> tuple[list[Run], Failures]:
    """Runs that can be made, those that were killed and their users last; and what failed already.

    A run that cannot be built is told before those that it needs are made, and these are not made
    for it alone.
    """
    failures = Failures(events)
    for run in runs:
        if error := _cannot_be_built(run):
            failures.refuse(run, str(error), type(error).__name__)
    for run in _only_needed_by(failures, runs, labels):
        failures.add(run, "not made: no run that needs it can be made")
    return _killed_last([run for run in runs if not failures.reached(run)], events), failures


def _cannot_be_built(run: Run) -> UserError | None:
    """Why a run that is not made yet would fail before its first step; None if nothing is seen."""
    try:
        if read_metrics(run.folder) is None:
            Resources.of(run.config)
            check_signatures(run.config)
            check_files(run.config)
    except UserError as error:
        return error
    return None


def _only_needed_by(failures: Failures, runs: Sequence[Run], labels: Labels) -> list[Run]:
    """Runs that nobody asked for by themselves, and that only runs which cannot be made need."""
    users: dict[str, list[str]] = {}
    for run in runs:
        for need in run.needs.values():
            users.setdefault(need.hash, []).append(run.hash)
    useless: list[Run] = []
    gone = {run.hash for run in runs if run in failures}
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
