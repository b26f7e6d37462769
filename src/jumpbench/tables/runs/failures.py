"""What a run that stopped with an error leaves behind: one line, in ``error.json``."""

from pathlib import Path

from jumpbench.errors import UserError, innermost
from jumpbench.files import disk_is_full, full_disk
from jumpbench.tables.runs import ERROR, LOG
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
