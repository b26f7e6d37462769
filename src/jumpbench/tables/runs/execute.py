"""Make one run: compose -> DataModule and Method -> fit and/or test -> metrics.json.

``metrics.json`` is written last: a folder that has it is finished, one without it is resumed from
its last checkpoint and its draws.
"""

import io
import time
import traceback
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import disk_errors, make_folder, write_atomic
from jumpbench.tables.planning.identity import check_seed
from jumpbench.tables.runs import (
    BY_SAMPLE,
    CHECKPOINTS,
    CURVES,
    DRAWS,
    ERROR,
    LAST_CHECKPOINT,
    LOG,
    METRICS,
    PROVENANCE,
    SAMPLES,
    TRAINING,
)
from jumpbench.tables.runs.failures import recorded_failure, users_error
from jumpbench.tables.runs.provenance import Started, note_code, provenance
from jumpbench.tables.runs.runlog import logging_to
from jumpbench.tables.runs.store import plain, read_metrics, run_hash, write_config, write_json

PATIENT_SECONDS = 5.0


def execute(
    folder: Path, config: dict[str, Any], watch: Any = None, labels: dict | None = None
) -> None:
    """Make the run described by ``config`` in ``folder``.

    Args:
        config: plain configuration, folders of needed runs filled in (:meth:`Run.placed`).
        watch: told about progress, at most a few times a second.
        labels: what an experiment logger calls the run (table, row, column, scale).

    Raises:
        UserError: bad input, missing data (:class:`DataMissing`), diverged training
            (:class:`Diverged`), or a disk that refuses.
        RunFailed: anything else; ``log.txt`` has the traceback.
    """
    make_folder(folder)
    write_config(folder, config)
    with logging_to(folder / LOG) as log:
        try:
            _RunJob(folder, config, watch, labels or {}).make()
            (folder / ERROR).unlink(missing_ok=True)
        except BaseException as error:
            log.error("".join(traceback.format_exception(error)))
            if isinstance(error, SystemExit):  # what Lightning makes of an interrupt
                raise KeyboardInterrupt from None
            if not isinstance(error, Exception):
                raise
            raise recorded_failure(folder, error) from None


class _RunJob:
    """One run while it is made: what is constructed for it, and its stages."""

    def __init__(self, folder: Path, config: dict[str, Any], watch: Any, labels: dict) -> None:
        self.folder, self.config, self.watch, self.labels = folder, config, watch, labels
        self.hash = run_hash(folder)
        self.metrics: dict[str, float | str] = {}
        folders = map(Path, (config.get("needs") or {}).values())
        self.needed = [made["metrics"] for one in folders if (made := read_metrics(one))]

    def make(self) -> None:
        from jumpbench.tables.runs.interrupts import Interrupts
        from jumpbench.tables.runs.loggers import close
        from jumpbench.tables.runs.memory import forget_peak, keep_freed_memory
        from jumpbench.tables.runs.mirrors import log_models, log_results, mark

        started = Started()
        note_code()
        keep_freed_memory()
        forget_peak()
        stages = {"fit": self.fit, "test": self.test, "count": self.count}
        asked = self.config["stages"]
        if not asked or set(asked) - set(stages) or ("count" in asked and len(asked) > 1):
            raise UserError(f"stages={asked}: give some of [fit, test], or [count]")
        with Interrupts() as interrupts:
            self.build(interrupts)
            try:
                for stage in self.config["stages"]:
                    stages[stage]()
                log_results(self.trainer.loggers, self.metrics)
                log_models(self.trainer.loggers, self.folder, self.config)
            finally:
                close(self.trainer.loggers)
            if self.trainer.is_global_zero:
                self.finish(started)
                mark(self.folder, self.config)

    def build(self, interrupts: Any) -> None:
        """Data, method and trainer."""
        import torch
        from lightning import seed_everything

        from jumpbench.methods.common.shards import Shards
        from jumpbench.ops.precision import use_tf32
        from jumpbench.tables.planning.gate import construct
        from jumpbench.tables.runs.checkpoints import SaveCheckpoints
        from jumpbench.tables.runs.devices import data_settings, strategy, trainer_settings
        from jumpbench.tables.runs.divergence import FiniteTraining
        from jumpbench.tables.runs.mirrors import mirror
        from jumpbench.tables.runs.training import Budget, FitClock, HearSignals, ReportProgress
        from jumpbench.tables.runs.traininglog import TrainingLog
        from jumpbench.tables.runs.wholefiles import WholeFiles

        settings = trainer_settings(self.config)
        if settings.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
            raise UserError(
                "trainer.accelerator=gpu, but torch sees no GPU here; "
                "use trainer.accelerator=cpu, or a CUDA build of torch"
            )
        use_tf32(bool(self.config.get("tf32")))
        check_seed(self.config["seed"])
        seed_everything(self.config["seed"], workers=True, verbose=False)
        data = data_settings(self.config)
        self.data = construct(data, "data") if data else None
        self.method = construct(self.config["method"], "method")
        self.method.shards = Shards(self.folder / DRAWS)
        limits = {k: v for k, v in (self.config.get("budget") or {}).items() if v is not None}
        self.method.budget = limits
        self.clock, self.finite = FitClock(), FiniteTraining()
        callbacks = [*construct(settings.pop("callbacks", None) or [], "trainer.callbacks")]
        plugins = [*construct(settings.pop("plugins", None) or [], "trainer.plugins")]
        callbacks += [self.clock, HearSignals(interrupts)]
        if self.watch is not None:
            callbacks.append(ReportProgress(self.watch))
        if "fit" in self.config["stages"]:
            callbacks += [
                Budget(self.clock, **limits),
                self.finite,
                TrainingLog(self.folder / TRAINING / CURVES),
                # Last, so that the states of the others are in the file.
                SaveCheckpoints(
                    self.folder / CHECKPOINTS,
                    int(self.config["checkpoint_every"]),
                    float(self.config.get("checkpoint_minutes") or 0),
                    interrupts,
                ),
            ]
        self.trainer = construct(
            settings,
            "trainer",
            callbacks=callbacks,
            plugins=[*plugins, WholeFiles(self.hash)],
            strategy=strategy(settings, self.method),
            logger=mirror(self.folder, self.config, self.labels, self.hash) or False,
            default_root_dir=str(self.folder),
            enable_progress_bar=False,
            enable_model_summary=False,
        )

    def fit(self) -> None:
        from jumpbench.tables.runs.checkpoints import resume_point

        checkpoints = self.folder / CHECKPOINTS
        resumed = resume_point(checkpoints, self.hash)
        try:
            self.trainer.fit(
                self.method,
                datamodule=self.data,
                ckpt_path=str(resumed) if resumed else None,
                weights_only=True,
            )
        except Exception as error:
            known = users_error(error)
            beyond = known or self.finite.diverged(self.method, self.trainer.global_step, error)
            if known or beyond is None:
                raise
            raise beyond from error
        with disk_errors(checkpoints):
            self.trainer.save_checkpoint(checkpoints / LAST_CHECKPOINT)
        spent = self.method.spent
        self.metrics |= {
            "run/fit_seconds": self.clock.seconds,
            "run/steps": float(self.trainer.global_step),
            "run/fit_network_evaluations": spent.network_evaluations,
            "run/fit_energy_evaluations": spent.energy_evaluations,
        }

    def test(self) -> None:
        started = time.monotonic()
        self.trainer.test(self.method, datamodule=self.data, verbose=False)
        self.metrics["run/test_seconds"] = time.monotonic() - started
        results = {name: plain(value) for name, value in self.method.results.items()}
        if results.get("invalid", 0.0) == 1.0:
            raise UserError(
                "no step of the simulation had usable rates (invalid is 1): the network gives "
                "values that are not finite"
            )
        self.metrics |= results

    def count(self) -> None:
        """What its training would hold in memory; nothing is trained."""
        from jumpbench.tables.price.kept import training_memory

        self.metrics |= training_memory(self.config)

    def finish(self, started: Started) -> None:
        """Write what the run leaves behind; ``metrics.json`` last."""
        import torch

        from jumpbench.tables.runs.checkpoints import keep_last_only
        from jumpbench.tables.runs.spent import spent

        artifacts = dict(self.method.artifacts)
        by_sample = artifacts.pop(BY_SAMPLE, None)
        if artifacts:
            buffer = io.BytesIO()
            torch.save(artifacts, buffer)
            write_atomic(self.folder / SAMPLES, buffer.getvalue())
        origin = provenance(self.config, started, str(self.trainer.strategy.root_device))
        self.metrics |= spent(self.metrics, self.needed)
        self.metrics["run/peak_memory_gb"] = origin["peak_memory_gb"]
        write_json(self.folder / PROVENANCE, origin)
        finished = {"run": self.hash, "metrics": self.metrics, "seed": self.config["seed"]}
        if by_sample:
            finished[BY_SAMPLE] = by_sample
        write_json(self.folder / METRICS, finished)
        self.method.shards.remove()
        keep_last_only(self.folder / CHECKPOINTS)
