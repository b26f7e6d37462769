"""Progress of runs that are made elsewhere, from what they leave in their folders.

The folders must be on a file system that this machine sees too, as the results must.
"""

import contextlib
import time
from collections.abc import Iterable

from jumpbench.tables.launchers import Events
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import BEGUN
from jumpbench.tables.runs.job import PROGRESS, tell_progress

FILES_SECONDS = 1.0


class Watching:
    """Tells events what the folders of runs say, once a second at most."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._started: set[str] = set()
        self._told: dict[str, float] = {}
        self._looked = 0.0

    def started(self, run: Run) -> None:
        """A run begins; told once, also if it begins again elsewhere."""
        if run.hash not in self._started:
            self._started.add(run.hash)
            self._events.started(run)

    def look(self, runs: Iterable[Run]) -> None:
        """Read ``begun.json`` and ``progress.json`` of runs that have not ended."""
        if time.monotonic() - self._looked < FILES_SECONDS:
            return
        for run in runs:
            if (run.folder / BEGUN).exists():
                self.started(run)
                self._progress(run)
        self._looked = time.monotonic()

    def _progress(self, run: Run) -> None:
        with contextlib.suppress(OSError):
            written = (run.folder / PROGRESS).stat().st_mtime
            if written != self._told.get(run.hash):
                self._told[run.hash] = written
                tell_progress(run.folder, OfOne(run, self._events))


class OfOne:
    """A watch of one run, told to the events of all."""

    def __init__(self, run: Run, events: Events) -> None:
        self._run, self._events = run, events

    def progress(self, stage: str, done: float, total: int | None, watched: str = "") -> None:
        self._events.progress(self._run, stage, done, total, watched)
