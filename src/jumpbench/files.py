"""Files that are whole or absent, and one clear line when a disk refuses."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jumpbench.errors import UserError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def disk_is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _FULL


def full_disk(path: Path, error: BaseException) -> UserError:
    return UserError(
        f"{path}: the disk is full ({getattr(error, 'strerror', error)}); "
        "free some space and call again: finished runs are kept"
    )


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an operating system's refusal to write into one line with the fix."""
    try:
        yield
    except OSError as error:
        if disk_is_full(error):
            raise full_disk(path, error) from None
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; "
            "set JUMPBENCH_OUTPUTS to a folder you can write to"
        ) from None


def make_folder(path: Path) -> Path:
    with disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write the whole file or nothing: a temporary file in the same folder, fsync, rename."""
    data = content.encode() if isinstance(content, str) else content
    make_folder(path.parent)
    with disk_errors(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
