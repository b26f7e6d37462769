"""The lock of a run while this process makes it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout

from jumpbench.errors import UserError
from jumpbench.tables.runs.store import run_lock


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
