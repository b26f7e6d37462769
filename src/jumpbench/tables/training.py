"""What the suite adds to a Lightning trainer: checkpoints, a clock that survives resuming, logs."""

import os
import time
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, Logger

from jumpbench.errors import UserError


class FitClock(Callback):
    """Seconds spent in ``fit``, summed over all attempts that contributed to the run."""

    def __init__(self) -> None:
        self._before = 0.0
        self._started: float | None = None

    @property
    def seconds(self) -> float:
        return self._before + (time.time() - self._started if self._started else 0.0)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._started = time.time()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._before, self._started = self.seconds, None

    def state_dict(self) -> dict[str, float]:
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        self._before = float(state_dict["seconds"])


class ReportProgress(Callback):
    """Tell a watch how far the trainer is, a few times a second."""

    def __init__(self, watch: Any, every: float = 0.2) -> None:
        self._watch, self._every, self._last = watch, every, 0.0

    def _tell(self, stage: str, done: int, total: float) -> None:
        if (now := time.monotonic()) - self._last >= self._every:
            self._last = now
            finite = 0 < total < float("inf")
            self._watch.progress(stage, done, int(total) if finite else None)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        total = trainer.max_steps if trainer.max_steps > 0 else trainer.estimated_stepping_batches
        self._tell("fit", trainer.global_step, total)

    def on_test_batch_end(
        self, trainer: Trainer, module: Any, outputs: Any, batch: Any, index: int, *_: Any
    ) -> None:
        self._tell("test", index + 1, sum(trainer.num_test_batches))


def our_callbacks(
    folder: Path, config: dict[str, Any], watch: Any
) -> tuple[FitClock, list[Callback]]:
    """The clock, and all callbacks that every run gets."""
    clock = FitClock()
    callbacks: list[Callback] = [clock]
    if watch is not None:
        callbacks.append(ReportProgress(watch))
    if "fit" in config["stages"]:
        # The clock stands before the checkpoint, so that its state is in the file.
        callbacks.append(
            ModelCheckpoint(
                dirpath=folder / "checkpoints",
                filename="last",
                every_n_train_steps=int(config["checkpoint_every"]),
                save_top_k=1,
                enable_version_counter=False,
            )
        )
    return clock, callbacks


def last_checkpoint(folder: Path) -> str | None:
    """Where to resume from; None for a fresh start.

    Raises:
        UserError: the checkpoint cannot be read.
    """
    path = folder / "checkpoints" / "last.ckpt"
    if not path.exists():
        return None
    try:
        torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        raise UserError(
            f"{path} is corrupt; delete it and call again: the run then starts from step 0"
        ) from None
    return str(path)


def loggers(folder: Path, config: dict[str, Any], labels: dict[str, str]) -> list[Logger] | bool:
    """The run's own csv log of its training, and the mirror that was asked for."""
    found: list[Logger] = []
    if "fit" in config["stages"]:
        found.append(CSVLogger(save_dir=folder, name="", version="training"))
    mirror = dict(config.get("logger") or {})
    if mirror:
        os.environ.setdefault("WANDB_SILENT", "true")
        if "WandbLogger" in mirror.get("_target_", "") and not _wandb_key():
            mirror["offline"] = True
        found.append(
            instantiate(
                mirror, save_dir=str(folder), id=folder.name.rsplit("-", 1)[-1],
                name=folder.name, **labels, _convert_="all",
            )
        )  # fmt: skip
    return found or False


def close(used: list[Logger]) -> None:
    """End the mirrors, so that the next run of this process starts its own."""
    for logger in used:
        logger.finalize("success")
        if hasattr(logger.experiment, "finish"):
            logger.experiment.finish()


def _wandb_key() -> bool:
    netrc = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    return bool(os.environ.get("WANDB_API_KEY")) or (
        netrc.is_file() and "wandb" in netrc.read_text(errors="ignore")
    )


def world_size(trainer: dict[str, Any]) -> int:
    """Number of processes a trainer configuration asks for.

    Raises:
        UserError: ``devices`` is neither a number nor a list.
    """
    devices = trainer.get("devices", 1)
    if isinstance(devices, str) and devices not in ("auto", "-1"):
        raise UserError(f"trainer.devices={devices}: give a number of devices, or a list of them")
    if devices in ("auto", "-1", -1):
        devices = max(torch.cuda.device_count(), 1)
    count = len(devices) if isinstance(devices, (list, tuple)) else int(devices)
    return count * int(trainer.get("num_nodes", 1))
