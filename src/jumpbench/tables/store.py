"""Run folders on disk: atomic files, done-markers, locks, one clear line when the disk fails."""

import contextlib
import json
import math
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jumpbench.errors import DataMissing, UserError
from jumpbench.files import make_folder, write_atomic


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, remedy: str) -> Any:
    """Parsed json, or one line that names the damaged file and the remedy."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UserError(f"{path} is damaged (not a regular file); {remedy}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError, RecursionError):
        raise UserError(f"{path} is damaged (not whole json); {remedy}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """The record of a finished run, or None if it has not finished.

    Raises:
        UserError: the file is there and is not what a finished run writes.
    """
    path = folder / "metrics.json"
    if not path.exists():
        return None
    if not path.is_file():
        raise UserError(f"{path} is no file; remove it and call again")
    remedy = "delete it and call again, and the run is made anew from its last checkpoint"
    record = read_json(path, remedy)
    if not isinstance(record, dict) or not isinstance(record.get("metrics"), dict):
        raise UserError(f"{path} is damaged (no metrics in it); {remedy}")
    if (owner := record.get("run", run_hash(folder))) != run_hash(folder):
        raise UserError(f"{path} belongs to another run ({owner}); {remedy}")
    return record


def run_hash(folder: Path) -> str:
    """The hash of the run whose folder this is (``NAME-HASH``)."""
    return folder.name.rsplit("-", 1)[-1]


def failure_status(folder: Path) -> str:
    """``data-missing`` or ``failed``: how a cell reports the run's last error."""
    try:
        kind = json.loads((folder / "error.json").read_text())["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return "failed"
    return "data-missing" if kind == DataMissing.__name__ else "failed"


def read_failure(folder: Path) -> str | None:
    """Why the last attempt at this run failed, or None."""
    path = folder / "error.json"
    if not path.is_file():
        return None
    with contextlib.suppress(ValueError, OSError, TypeError, KeyError):
        return str(json.loads(path.read_text())["message"])
    return "the last attempt failed (its error.json is damaged; see log.txt)"


def plain(value: Any) -> float | str:
    """A metric as json holds it: non-finite numbers, which json lacks, become words."""
    number = float(value)
    return number if math.isfinite(number) else str(number)


def run_lock(folder: Path) -> FileLock:
    """The lock that a process holds while it makes this run; the system frees it if it dies."""
    make_folder(folder)
    return FileLock(folder / ".lock")


def is_running(folder: Path) -> bool:
    """Whether some process holds the run's lock now."""
    if not (folder / ".lock").exists():
        return False
    try:
        with run_lock(folder).acquire(timeout=0):
            return False
    except (Timeout, UserError):
        return True
    except OSError:
        return False
