"""What a launcher hands to the process that makes a run, and what comes back from it."""

import contextlib
import enum
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.runs import LABELS, PROGRESS
from jumpbench.tables.runs.store import read_config, read_json, write_config, write_json

POLL_SECONDS = 0.5
SAVE_SECONDS = 60.0
STOPPED = 130
"""Exit status of a process that was asked to stop, as of one that SIGINT ended in a shell."""


class Outcome(enum.Enum):
    FINISHED = "finished"
    FAILED = "failed"
    HELD = "held"  # another process is making it


@dataclass(frozen=True)
class Ended:
    """How an attempt ended; ``message`` is one line where it failed."""

    outcome: Outcome
    message: str = ""


@dataclass(frozen=True)
class Job:
    """A run as the place that makes it sees it.

    Args:
        config: plain, folders of needed runs filled in.
        labels: table, row, column and scale that the run belongs to.
        spent: seconds of its time limit that earlier attempts have taken.
        saving: seconds that it may take to save where it is asked to stop.
    """

    folder: Path
    config: dict[str, Any] = field(repr=False)
    labels: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0
    saving: float = SAVE_SECONDS

    def plan(self) -> None:
        """Write what :meth:`planned` reads."""
        write_config(self.folder, self.config)
        write_json(self.folder / LABELS, self.labels)

    @staticmethod
    def planned(folder: Path, spent: float = 0.0, saving: float = SAVE_SECONDS) -> "Job":
        """The job that is described in its folder.

        Raises:
            UserError: nothing is.
        """
        config = read_config(folder)
        labels = read_json(folder / LABELS, "delete it") if _labelled(folder) else {}
        return Job(folder, config, labels, spent, saving)


class ToFile:
    """A watch for other processes: ``progress.json``, twice a second; and for one of this process,
    if there is one."""

    def __init__(self, folder: Path, watch: Any = None) -> None:
        self._path, self._told, self._watch = folder / PROGRESS, 0.0, watch

    def progress(self, stage: str, done: float, total: int | None, watched: str = "") -> None:
        if self._watch is not None:
            self._watch.progress(stage, done, total, watched)
        first_process = os.environ.get("LOCAL_RANK", "0") == os.environ.get("NODE_RANK", "0") == "0"
        if first_process and time.monotonic() - self._told >= POLL_SECONDS:
            self._told = time.monotonic()
            with contextlib.suppress(UserError, OSError):  # a full disk is reported by the run
                event = {"stage": stage, "done": done, "total": total, "watched": watched}
                write_json(self._path, event)


def told_progress(folder: Path) -> tuple[str, float, int | None, str] | None:
    """Stage, steps done, steps in all and the watched quantity that another process has left by
    :class:`ToFile`; None if there is nothing, or something else."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        event = json.loads((folder / PROGRESS).read_text())
        total = None if event["total"] is None else int(event["total"])
        return str(event["stage"]), float(event["done"]), total, str(event.get("watched", ""))
    return None


def tell_progress(folder: Path, watch: Any) -> None:
    """Tell a watch, if there is one, what another process has left."""
    if watch is not None and (event := told_progress(folder)):
        watch.progress(*event)


def _labelled(folder: Path) -> bool:
    return os.path.isfile(folder / LABELS)
