"""Progress of the runs of a table: bars with the time left, in a terminal or a notebook, or plain
lines where there is neither (a pipe, a log file): when a run starts and ends, and one a minute.
"""

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from jumpbench.tables.commands.pace import Pace, exact_duration
from jumpbench.tables.commands.remaining import Remaining
from jumpbench.tables.planning.run import Run
from jumpbench.tables.views.console import console, words

PLAIN_SECONDS = 60.0


class Terminal:
    """Events of a launcher as a progress display, or as plain lines where there is no terminal.

    ``names`` says what a run is for (``SGDD / D=2``), by its hash, ``expected`` how many seconds it
    is expected to take, where that is known; ``after`` is called when one ends.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        after: Callable[[], None],
        names: Mapping[str, str] | None = None,
        expected: Mapping[str, float] | None = None,
    ) -> None:
        self._console = console(stderr=True)
        drawn = self._console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
        self._plain = not (self._console.is_terminal or drawn)
        self._total, self._done, self._failed = len(runs), 0, 0
        self._after, self._names = after, names or {}
        self._paces: dict[str, Pace] = {}
        self._remaining = Remaining(runs, expected or {})
        self._told = time.monotonic()  # where there is no display
        self._waited: set[str] = set()
        wide = self._console.width >= 110
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16 if wide else 5),
            TextColumn("{task.fields[state]}", markup=False),
            *([TimeElapsedColumn()] if wide else []),
            console=self._console,
            transient=True,
            disable=self._plain,
        )
        self._all = self._progress.add_task(
            "all runs", total=max(len(runs), 1), state=self._state()
        )
        self._lines: dict[str, TaskID] = {}  # of the runs that are being made, by hash

    def __enter__(self) -> "Terminal":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _name(self, run: Run) -> str:
        return self._names.get(run.hash, run.name)

    def _line_of(self, run: Run) -> TaskID:
        """The line of a run in the display; a new one if it has none."""
        if run.hash not in self._lines:
            self._lines[run.hash] = self._progress.add_task(self._name(run), total=None, state="")
        return self._lines[run.hash]

    def _state(self) -> str:
        ended = self._done + self._failed
        text = f"{ended}/{self._total}" + (f", {self._failed} failed" if self._failed else "")
        text += f", {len(self._paces)} running" if len(self._paces) > 1 else ""
        if (left := self._remaining.left(self._paces)) is None or left < 1:
            return text
        return f"{text}, about {exact_duration(left)} left, ends {_ends(left)}"

    def started(self, run: Run) -> None:
        now = time.monotonic()
        self._paces[run.hash] = Pace(now)
        self._line_of(run)
        if self._plain:
            self._line(f"started {self._done + self._failed + 1}/{self._total}: {run.id}"
                       f" ({self._name(run)})")  # fmt: skip

    def progress(
        self, run: Run, stage: str, done: float, total: int | None, watched: str = ""
    ) -> None:
        pace = self._paces.setdefault(run.hash, Pace(time.monotonic()))
        pace.reached(stage, done, total, time.monotonic(), watched)
        if self._plain and pace.last_at - self._told >= PLAIN_SECONDS:
            self._told = pace.last_at
            self._line(f"{self._state()}; {run.id}: {pace.said()}")
        self._progress.update(self._line_of(run), completed=done, total=total, state=pace.said())
        share = self._done + self._failed + sum(p.share for p in self._paces.values())
        self._progress.update(self._all, completed=share, state=self._state())

    def _ended(self, run: Run) -> None:
        self._paces.pop(run.hash, None)
        self._remaining.ended(run)
        if (line := self._lines.pop(run.hash, None)) is not None:
            self._progress.remove_task(line)
        ended = self._done + self._failed
        self._progress.update(self._all, completed=ended, state=self._state())
        self._after()

    def finished(self, run: Run) -> None:
        self._done += 1
        if pace := self._paces.get(run.hash):
            seconds = time.monotonic() - pace.began
            self._remaining.took(run, seconds)
        self._ended(run)
        if pace and self._plain:
            self._line(f"done {self._state()}: {run.id} in {exact_duration(seconds)}")

    def failed(self, run: Run, message: str) -> None:
        self._failed += 1
        self._line(f"failed: {run.id}: {message}", "red")
        self._ended(run)

    def waiting(self, run: Run) -> None:
        if run.hash not in self._waited:
            self._waited.add(run.hash)
            self._line(f"waiting for {run.id}, which another process is making")

    def noted(self, run: Run, message: str) -> None:
        self._line(f"{run.id}: {message}", "yellow")

    def message(self, text: str) -> None:
        self._line(text)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(words(self._console, text, style), soft_wrap=True)


def _ends(seconds: float) -> str:
    """The time of the day so many seconds from now, with the day where that is another one."""
    now = datetime.now().astimezone()
    then = now + timedelta(seconds=seconds)
    return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%a %d %b %H:%M}"
