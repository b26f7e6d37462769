"""The lock of a run: held while a process makes it, and freed by the system if that dies."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from jumpbench.errors import UserError
from jumpbench.files import make_folder
from jumpbench.tables.runs import LOCK


def run_lock(folder: Path) -> FileLock:
    """The lock of a run, not yet taken."""
    make_folder(folder)
    return FileLock(folder / LOCK)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """While a process makes this run.

    Raises:
        Timeout: another process does.
        UserError: there can be no lock: a folder of somebody else, or a ``.lock`` that is no file.
    """
    lock = run_lock(folder)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise
    except OSError as error:
        what = f"cannot lock {folder / '.lock'}: {error.strerror}"
        raise UserError(
            f"{what}; delete it, or set JUMPBENCH_OUTPUTS to a folder of your own"
        ) from None
    try:
        yield
    finally:
        lock.release()


def is_running(folder: Path) -> bool:
    """Whether some process holds the run's lock now."""
    if not os.path.exists(folder / LOCK):
        return False
    try:
        with run_lock(folder).acquire(timeout=0):
            return False
    except (Timeout, UserError):
        return True
    except OSError:
        return False
