"""Make one run: compose -> DataModule and Method -> fit and/or test -> metrics.json.

``metrics.json`` is written last: a folder that has it is finished, one without it is resumed from
its last checkpoint. This is the only module of the suite that starts torch.
"""

import argparse
import io
import json
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Protocol

from omegaconf import OmegaConf

from jumpbench.errors import DataMissing, UserError
from jumpbench.files import disk_errors, disk_is_full, full_disk, make_folder, write_atomic
from jumpbench.tables.provenance import provenance
from jumpbench.tables.runlog import logging_to
from jumpbench.tables.store import plain, write_json

TEST_PREFIX = "test/"


class RunFailed(Exception):
    """A run stopped with an error; its log has the details. The message is one line."""


class Watch(Protocol):
    """Who is told how far a run is."""

    def progress(self, stage: str, done: int, total: int | None) -> None: ...


def execute(
    folder: Path, config: dict[str, Any], watch: Watch | None = None, labels: dict | None = None
) -> None:
    """Make the run described by ``config`` in ``folder``.

    Args:
        config: plain configuration, folders of needed runs filled in (:meth:`Run.placed`).
        watch: told about progress, at most a few times a second.
        labels: ``group`` and ``job_type`` for the experiment logger.

    Raises:
        UserError: bad input, missing data (:class:`DataMissing`), or a disk that refuses.
        RunFailed: anything else; ``log.txt`` has the traceback.
    """
    make_folder(folder)
    write_atomic(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(config)))
    with logging_to(folder / "log.txt") as log:
        try:
            _make(folder, config, watch, labels or {})
            (folder / "error.json").unlink(missing_ok=True)
        except BaseException as error:
            log.error("".join(traceback.format_exception(error)))
            if isinstance(error, SystemExit):  # what Lightning makes of an interrupt
                raise KeyboardInterrupt from None
            if not isinstance(error, Exception):
                raise
            known = _cause(error)
            if known is None and disk_is_full(error):
                known = full_disk(folder, error)
            kind = type(known).__name__ if known else type(error).__name__
            message = str(known) if known else f"{kind}: {_one_line(error)}"
            write_json(folder / "error.json", {"kind": kind, "message": message})
            if known:
                raise known from None
            raise RunFailed(f"{message} (see {folder / 'log.txt'})") from None


def _make(folder: Path, config: dict[str, Any], watch: Watch | None, labels: dict) -> None:
    import torch
    from hydra.utils import instantiate
    from lightning import seed_everything

    from jumpbench.methods.base import ARTIFACTS
    from jumpbench.methods.shards import Shards
    from jumpbench.tables.memory import keep_freed_memory
    from jumpbench.tables.training import close, loggers, our_callbacks, world_size

    started = time.time()
    keep_freed_memory()
    settings = dict(config["trainer"])
    if settings.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
        raise UserError(
            "trainer.accelerator=gpu, but torch sees no GPU here; "
            "use trainer.accelerator=cpu, or a CUDA build of torch"
        )
    seed_everything(int(config["seed"]), workers=True, verbose=False)
    data_config = dict(config["data"] or {})
    if (world := world_size(settings)) > 1 and (batch := data_config.get("batch_size")):
        if batch % world:
            raise UserError(
                f"the global batch of {batch} cannot be kept on {world} devices; "
                "choose trainer.devices so that it divides the batch"
            )
        data_config["batch_size"] = batch // world  # per process: the global batch is fixed
    data = instantiate(data_config, _convert_="all") if data_config else None
    method = instantiate(config["method"], _convert_="all")
    method.shards = Shards(folder / "draws")
    clock, callbacks = our_callbacks(folder, config, watch)
    trainer = instantiate(
        {k: v for k, v in settings.items() if k != "callbacks"},
        callbacks=[*instantiate(settings.get("callbacks") or [], _convert_="all"), *callbacks],
        logger=loggers(folder, config, labels),
        default_root_dir=str(folder),
        enable_progress_bar=False,
        enable_model_summary=False,
        _convert_="all",
    )
    metrics: dict[str, float | str] = {}
    try:
        _stages(trainer, method, data, folder, config, clock, metrics)
    finally:
        close(trainer.loggers)
    if not trainer.is_global_zero:
        return
    if method.artifacts:
        buffer = io.BytesIO()
        torch.save(method.artifacts, buffer)
        write_atomic(folder / ARTIFACTS, buffer.getvalue())
    record = provenance(config, started, str(trainer.strategy.root_device))
    metrics["run/peak_memory_gb"] = record["peak_memory_gb"]
    write_json(folder / "provenance.json", record)
    write_json(folder / "metrics.json", {"metrics": metrics, "seed": config["seed"]})
    method.shards.remove()


def _stages(
    trainer: Any,
    method: Any,
    data: Any,
    folder: Path,
    config: dict[str, Any],
    clock: Any,
    metrics: dict[str, float | str],
) -> None:
    """Fit and/or test, and fill ``metrics``."""
    from jumpbench.tables.training import last_checkpoint

    for stage in config["stages"]:
        if stage == "fit":
            trainer.fit(
                method, datamodule=data, ckpt_path=last_checkpoint(folder), weights_only=True
            )
            with disk_errors(folder / "checkpoints"):
                trainer.save_checkpoint(folder / "checkpoints" / "last.ckpt")
            metrics["run/fit_seconds"] = clock.seconds
            metrics["run/steps"] = float(trainer.global_step)
        elif stage == "test":
            before = time.time()
            trainer.test(method, datamodule=data, verbose=False)
            metrics["run/test_seconds"] = time.time() - before
            metrics |= {
                key.removeprefix(TEST_PREFIX): plain(value)
                for key, value in trainer.callback_metrics.items()
                if key.startswith(TEST_PREFIX)
            }
            metrics |= {name: plain(value) for name, value in method.results.items()}
        else:
            raise UserError(f"unknown stage '{stage}' in stages; there are: fit, test")


def _cause(error: BaseException | None) -> UserError | None:
    """The user's error behind what Hydra or Lightning wrapped around it, if there is one."""
    while error is not None:
        if isinstance(error, UserError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _one_line(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text[:300] or "no message"


def failure_status(folder: Path) -> str:
    """``data-missing`` or ``failed``: how a cell reports the run's last error."""
    try:
        kind = json.loads((folder / "error.json").read_text())["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return "failed"
    return "data-missing" if kind == DataMissing.__name__ else "failed"


def main() -> int:
    """``python -m jumpbench.tables.execute FOLDER``: make a planned run in a process of its own.

    Distributed training repeats this command line in every process, which a table's cannot be.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    config = OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"))
    logging.captureWarnings(True)
    try:
        execute(folder, config)
    except (UserError, RunFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
