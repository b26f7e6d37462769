"""How long the runs of a call still take together."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from jumpbench.tables.commands.pace import Pace
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.run_places import steps_of, work_digest


class Remaining:
    """The runs that have not ended, and how long one takes that has not begun.

    A run takes as long as those of the same work (equal but for seeds and needs) that ended here,
    else as those under way; else what it is expected to take; else the mean of all that ended here.
    A training that is under way says nothing about drawing samples from it.

    Args:
        runs: all of the call.
        expected: seconds by hash, of an earlier record or plan.
    """

    def __init__(self, runs: Sequence[Run], expected: Mapping[str, float]) -> None:
        self._work = {run.hash: f"{work_digest(run)} {steps_of(run)}" for run in runs}
        self._open = dict.fromkeys(self._work)
        self._expected = expected
        self._seconds: dict[str, list[float]] = {}  # by work

    def took(self, run: Run, seconds: float) -> None:
        """A run was made here."""
        self._seconds.setdefault(self._work[run.hash], []).append(seconds)

    def ended(self, run: Run) -> None:
        """A run was made here or elsewhere, or has failed."""
        self._open.pop(run.hash, None)

    def left(self, paces: Mapping[str, Pace]) -> float | None:
        """Seconds until all runs are made, as many at a time as there are ``paces`` now; None where
        the length of a run is not known."""
        present = [pace.left() for pace in paces.values()]
        seconds = {work: list(taken) for work, taken in self._seconds.items()}
        for run, pace in paces.items():
            if self._work[run] not in self._seconds and (whole := pace.whole()):
                seconds.setdefault(self._work[run], []).append(whole)
        ended = [one for taken in self._seconds.values() for one in taken]
        other = fmean(ended) if ended else None
        waiting = [self._length(run, seconds, other) for run in self._open if run not in paces]
        known = [one for one in (*present, *waiting) if one is not None]
        if len(known) < len(present) + len(waiting):
            return None
        return max([sum(known) / max(len(present), 1), *known[: len(present)]])

    def _length(
        self, run: str, seconds: Mapping[str, Sequence[float]], other: float | None
    ) -> float | None:
        if same := seconds.get(self._work[run]):
            return fmean(same)
        return self._expected.get(run, other)
