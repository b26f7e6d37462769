"""Why a run failed: one line, left in its ``error.json`` and read from there."""

import contextlib
import json
import os
from pathlib import Path

from filelock import Timeout

from jumpbench.errors import DataMissing, UserError, innermost
from jumpbench.files import disk_is_full, full_disk
from jumpbench.tables.runs import ERROR, LOG
from jumpbench.tables.runs.held import run_lock
from jumpbench.tables.runs.store import write_json


class RunFailed(Exception):
    """A run stopped with an error; its log has the details. The message is one line."""


def recorded_failure(folder: Path, error: Exception) -> Exception:
    """The error to raise for ``error``: one line, also left in ``error.json``.

    Of several processes the first one says why: the others fail for the loss of it.
    """
    known = users_error(error)
    if known is None and disk_is_full(error):
        known = full_disk(folder, error)
    cause = innermost(error)
    kind = type(known or cause).__name__
    message = str(known) if known else f"{kind}: {_one_line(cause)}"
    if not (folder / ERROR).exists():
        write_json(folder / ERROR, {"kind": kind, "message": message})
    return known or RunFailed(f"{message} (see {folder / LOG})")


def failure_status(folder: Path) -> str:
    """``data-missing`` or ``failed``: how a cell reports the run's last error."""
    return "data-missing" if failure_kind(folder) == DataMissing.__name__ else "failed"


def failure_kind(folder: Path) -> str:
    """Name of the exception that the run's last attempt ended with; ``RunFailed`` if unknown."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((folder / ERROR).read_text())["kind"])
    return "RunFailed"


def record_failure(folder: Path, kind: str, message: str) -> None:
    """Leave in a run's folder why it is not made, for cells and ``status``.

    Nothing is written where another process is making the run, or where the disk refuses: what the
    caller says on the terminal is all that there is then.
    """
    with (
        contextlib.suppress(Timeout, UserError, OSError),
        run_lock(folder).acquire(timeout=0),
    ):
        write_json(folder / ERROR, {"kind": kind, "message": message})


def read_failure(folder: Path) -> str | None:
    """Why the last attempt at this run failed, or None."""
    path = folder / ERROR
    if not os.path.isfile(path):
        return None
    with contextlib.suppress(ValueError, OSError, TypeError, KeyError):
        return str(json.loads(path.read_text())["message"])
    return "the last attempt failed (its error.json is damaged; see log.txt)"


def users_error(error: BaseException | None) -> UserError | None:
    """The user's error behind what Hydra or Lightning wrapped around it, if there is one."""
    while error is not None:
        if isinstance(error, UserError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _one_line(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text[:300] or "no message"
