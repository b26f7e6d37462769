"""Checkpoints of a run: when they are written, and which one is resumed."""

import contextlib
import logging
import time
import zipfile
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from jumpbench.errors import UserError
from jumpbench.tables.runs import LAST_CHECKPOINT, PREVIOUS_CHECKPOINT, STEP
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.store import write_json

SHARE_OF_SAVING = 0.05
"""Of the time of a training, at most, where checkpoints are due by time."""


class SaveCheckpoints(Checkpoint):
    """Saves every so many steps, every so many minutes, and when the run is asked to stop.

    A checkpoint that takes long to write is due by time less often: saving takes at most a
    twentieth of the time.

    Behind a step that is followed by a validation it waits for that: what a module concludes from
    its validation (in ``on_validation_epoch_end`` at the latest) belongs to the step. What it
    concludes from the step itself must be there before ``on_train_batch_end`` of the module, which
    Lightning calls behind this one.

    Several processes agree about once a second whether one of them was asked to stop, and on the
    time, which is that of the first.
    """

    def __init__(self, folder: Path, steps: int, minutes: float, interrupts: Interrupts) -> None:
        self._path = folder / LAST_CHECKPOINT
        self._steps, self._seconds, self._interrupts = steps, 60.0 * minutes, interrupts
        self._saving = 0.0  # seconds that the last checkpoint took
        self._step = -1  # of the batch before
        self._saved_step, self._saved_time, self._waits = -1, time.monotonic(), False
        self._asked = False  # all processes know that one was
        self._agree_at, self._agreed = 0, (0, time.monotonic())  # at step, at time

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._step = trainer.global_step
        self._saved_step, self._saved_time = trainer.global_step, time.monotonic()
        self._agree_at, self._agreed = (
            trainer.global_step + 1,
            (trainer.global_step, time.monotonic()),
        )
        self._interrupts.training = True

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        step, self._step = self._step, trainer.global_step
        if step == self._step or not self._is_due(trainer):  # accumulated gradients are no step
            return
        loop: Any = trainer.fit_loop
        if loop.epoch_loop._should_check_val_fx(loop._data_fetcher):
            self._waits = True
        else:
            self._save(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._waits and not trainer.sanity_checking:
            self._save(trainer)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._interrupts.training = False

    def _is_due(self, trainer: Trainer) -> bool:
        step = trainer.global_step
        by_step = step // self._steps > self._saved_step // self._steps
        between = max(self._seconds, self._saving / SHARE_OF_SAVING)
        late = self._seconds > 0 and time.monotonic() - self._saved_time >= between
        if trainer.world_size > 1:
            late = self._agree(trainer, late)
        else:
            self._asked = self._interrupts.requested
        return by_step or late or self._asked

    def _agree(self, trainer: Trainer, late: bool) -> bool:
        """Whether it is late by the clock of the first process; learns whether one was asked."""
        step = trainer.global_step
        if step < self._agree_at:
            return False
        before, then = self._agreed
        pace = (step - before) / max(time.monotonic() - then, 1e-3)  # steps a second
        strategy = trainer.strategy
        late, ahead = strategy.broadcast((late, min(max(int(pace), 1), 1000)))
        self._asked = strategy.reduce_boolean_decision(self._interrupts.requested, all=False)
        self._agree_at, self._agreed = step + ahead, (step, time.monotonic())
        return late

    def _save(self, trainer: Trainer) -> None:
        began = time.monotonic()
        trainer.save_checkpoint(self._path)
        self._saved_step, self._saved_time = trainer.global_step, time.monotonic()
        self._saving = self._saved_time - began
        if trainer.is_global_zero:
            total = trainer.max_steps if trainer.max_steps > 0 else None
            write_json(self._path.with_name(STEP), {"step": trainer.global_step, "steps": total})
        self._waits = False
        if self._asked:
            raise KeyboardInterrupt


def resume_point(folder: Path, run: str) -> Path | None:
    """The checkpoint to resume from; None for a fresh start.

    A damaged last checkpoint is passed over for the one before, which leads to the same numbers.

    Args:
        folder: of the checkpoints.
        run: hash of the run that they must belong to.

    Raises:
        UserError: no checkpoint is whole, or it is of another run.
    """
    names = (LAST_CHECKPOINT, PREVIOUS_CHECKPOINT)
    paths = [path for name in names if (path := folder / name).exists()]
    for path in paths:
        if (problem := problem_of(path)) is None:
            owner = torch.load(path, map_location="cpu", weights_only=True, mmap=True).get("run")
            if owner != run:
                raise UserError(
                    f"{path} belongs to another run ({owner}); delete it and call again: "
                    "the run then starts from step 0"
                )
            return path
        logging.getLogger("jumpbench").warning("%s is damaged (%s)", path, problem)
    if paths:
        raise UserError(
            f"{paths[0]} is corrupt; delete it and call again: the run then starts from step 0"
        )
    return None


def keep_last_only(folder: Path) -> None:
    """Once a run is finished, nothing will be resumed: drop the checkpoint before the last."""
    with contextlib.suppress(OSError):
        for name in (PREVIOUS_CHECKPOINT, STEP):
            (folder / name).unlink(missing_ok=True)


def problem_of(path: Path) -> str | None:
    """What is wrong with a checkpoint file, by its checksums; None if it is whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            if (name := archive.testzip()) is not None:
                return f"wrong checksum of {name}"
        torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:
        return type(error).__name__
    return None
