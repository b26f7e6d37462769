"""What a run is made of: data, method and trainer, constructed from its configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningDataModule, Trainer, seed_everything
from lightning.fabric.plugins.environments import ClusterEnvironment, LightningEnvironment

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.methods.common.shards import Shards
from jumpbench.ops.precision import use_tf32
from jumpbench.tables.planning.gate import construct
from jumpbench.tables.planning.identity import check_seed
from jumpbench.tables.runs import CHECKPOINTS, CURVES, DRAWS, TRAINING
from jumpbench.tables.runs.checkpoints import SaveCheckpoints
from jumpbench.tables.runs.devices import data_settings, strategy, trainer_settings, world_size
from jumpbench.tables.runs.divergence import FiniteTraining
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.loggers import closed_on_failure
from jumpbench.tables.runs.mirrors import mirror
from jumpbench.tables.runs.store import run_hash
from jumpbench.tables.runs.training import Budget, FitClock, HearSignals, ReportProgress
from jumpbench.tables.runs.traininglog import TrainingLog
from jumpbench.tables.runs.wholefiles import WholeFiles


@dataclass
class Parts:
    """``clock`` measures the training, ``finite`` ends it where it diverges."""

    data: LightningDataModule | None
    method: Method
    trainer: Trainer
    clock: FitClock
    finite: FiniteTraining


def build(
    folder: Path, config: dict[str, Any], watch: Any, labels: dict, interrupts: Interrupts
) -> Parts:
    """The parts of a run; arguments as of :func:`~jumpbench.tables.runs.execute.execute`.

    Raises:
        UserError: a configuration that cannot be constructed, or a GPU that is not there.
    """
    settings = trainer_settings(config)
    if settings.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
        raise UserError(
            "trainer.accelerator=gpu, but torch sees no GPU here; "
            "use trainer.accelerator=cpu, or a CUDA build of torch"
        )
    use_tf32(bool(config.get("tf32")))
    check_seed(config["seed"])
    seed_everything(config["seed"], workers=True, verbose=False)
    described = data_settings(config)
    data = construct(described, "data") if described else None
    method = construct(config["method"], "method")
    method.shards = Shards(folder / DRAWS)
    method.budget = {k: v for k, v in (config.get("budget") or {}).items() if v is not None}
    clock, finite, hash_ = FitClock(), FiniteTraining(), run_hash(folder)
    callbacks = [*construct(settings.pop("callbacks", None) or [], "trainer.callbacks")]
    plugins = [*construct(settings.pop("plugins", None) or [], "trainer.plugins")]
    callbacks += [clock, HearSignals(interrupts)]
    if watch is not None:
        callbacks.append(ReportProgress(watch))
    if "fit" in config["stages"]:
        callbacks += [Budget(clock, **method.budget), finite]
        callbacks += _kept(folder, config, interrupts)
    loggers = mirror(folder, config, labels, hash_)
    with closed_on_failure(loggers):
        trainer = construct(
            settings,
            "trainer",
            callbacks=callbacks,
            plugins=[*plugins, *_own_processes(plugins), WholeFiles(hash_)],
            strategy=strategy(settings, method),
            logger=loggers or False,
            default_root_dir=str(folder),
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        if trainer.world_size != (world := world_size(config["trainer"])):
            raise UserError(
                f"Lightning makes {trainer.world_size} processes of trainer.devices and "
                f"trainer.num_nodes, not {world}: give trainer.devices a number"
            )
    return Parts(data, method, trainer, clock, finite)


def _own_processes(plugins: Sequence[Any]) -> list[ClusterEnvironment]:
    """A run starts the other processes that it is shared by. Lightning would leave that to Slurm,
    wherever it runs inside an allocation."""
    named = any(isinstance(plugin, ClusterEnvironment) for plugin in plugins)
    return [] if named else [LightningEnvironment()]


def _kept(folder: Path, config: dict[str, Any], interrupts: Interrupts) -> list[Callback]:
    """What keeps a training on the disk: its curves, and last its checkpoints, so that the states
    of all other callbacks are in them."""
    every, minutes = int(config["checkpoint_every"]), float(config.get("checkpoint_minutes") or 0)
    return [
        TrainingLog(folder / TRAINING / CURVES),
        SaveCheckpoints(folder / CHECKPOINTS, every, minutes, interrupts),
    ]
