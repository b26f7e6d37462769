"""How a checkpoint reaches the disk: whole, or not at all."""

import os
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO

from jumpbench.files import disk_errors, make_folder
from jumpbench.tables.runs import PREVIOUS_CHECKPOINT


class WholeFiles(TorchCheckpointIO):
    """A checkpoint is whole or absent, whatever happens while it is written.

    It is written beside its place (not in ``$TMPDIR``, which may be another filesystem), synced and
    renamed; the one before stays as ``previous.ckpt`` until the next. It names its run. Its
    checksums are those of the zip file that ``torch.save`` writes.

    Args:
        run: hash of the run.
    """

    def __init__(self, run: str) -> None:
        self._run = run

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        path = Path(path)
        make_folder(path.parent)
        writing = path.with_name(f".{path.name}.writing")
        with disk_errors(path.parent):
            try:
                with writing.open("wb") as file:
                    _save({**checkpoint, "run": self._run}, file)
                    file.flush()
                    os.fsync(file.fileno())
                if path.exists():
                    os.replace(path, path.with_name(PREVIOUS_CHECKPOINT))
                os.replace(writing, path)
            except BaseException:
                writing.unlink(missing_ok=True)
                raise


def _save(checkpoint: dict[str, Any], file: Any) -> None:
    """``torch.save``; a disk that refuses is told as such (torch's writer hides it)."""
    start = file.tell()
    try:
        torch.save(checkpoint, file)
    except RuntimeError:
        file.seek(start)
        _refused(file)
        raise


def _refused(file: Any) -> None:
    """Raise the OSError that made writing fail, if it is one that lasts."""
    block = bytes(1 << 20)
    for _ in range(64):
        file.write(block)
        file.flush()
