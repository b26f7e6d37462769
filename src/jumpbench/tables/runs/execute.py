"""Make one run: compose -> DataModule and Method -> fit and/or test -> metrics.json.

``metrics.json`` is written last: a folder that has it is finished, one without it is resumed from
its last checkpoint and its draws.
"""

import contextlib
import io
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpbench.errors import UserError
from jumpbench.files import disk_errors, make_folder, write_atomic
from jumpbench.tables.runs import (
    BY_SAMPLE,
    CHECKPOINTS,
    ERROR,
    LAST_CHECKPOINT,
    LOG,
    METRICS,
    PROVENANCE,
    SAMPLES,
)
from jumpbench.tables.runs.attempts import Attempts
from jumpbench.tables.runs.failures import recorded_failure, users_error
from jumpbench.tables.runs.provenance import Started, note_code, provenance
from jumpbench.tables.runs.runlog import logging_to
from jumpbench.tables.runs.store import plain, read_metrics, run_hash, write_config, write_json

if TYPE_CHECKING:
    from jumpbench.tables.runs.parts import Parts


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
    """One run while it is made: its parts, and its stages."""

    parts: "Parts"  # since the start of make

    def __init__(self, folder: Path, config: dict[str, Any], watch: Any, labels: dict) -> None:
        self.folder, self.config, self.watch, self.labels = folder, config, watch, labels
        self.hash = run_hash(folder)
        self.metrics: dict[str, float | str] = {}
        folders = map(Path, (config.get("needs") or {}).values())
        self.needed = [made["metrics"] for one in folders if (made := read_metrics(one))]

    def make(self) -> None:
        from jumpbench.tables.runs.interrupts import Interrupts
        from jumpbench.tables.runs.loggers import close, closed_on_failure
        from jumpbench.tables.runs.memory import forget_peak, keep_freed_memory
        from jumpbench.tables.runs.mirrors import log_models, log_results, mark
        from jumpbench.tables.runs.parts import build

        started, attempts = Started(), Attempts(self.folder)
        note_code()
        keep_freed_memory()
        forget_peak()
        stages = {"fit": self.fit, "test": self.test, "count": self.count}
        asked = self.config["stages"]
        if not asked or set(asked) - set(stages) or ("count" in asked and len(asked) > 1):
            raise UserError(f"stages={asked}: give some of [fit, test], or [count]")
        with Interrupts() as interrupts:
            self.parts = build(self.folder, self.config, self.watch, self.labels, interrupts)
            loggers = self.parts.trainer.loggers
            with self.noted(attempts, started), closed_on_failure(loggers):
                for stage in self.config["stages"]:
                    stages[stage]()
                    interrupts.end_if_asked(self.parts.trainer)
                log_results(loggers, self.metrics)
                log_models(loggers, self.folder, self.config)
            close(loggers)
            if self.parts.trainer.is_global_zero:
                self.finish(attempts.together(self.origin(started)))
                mark(self.folder, self.config)
                attempts.forget()

    @contextlib.contextmanager
    def noted(self, attempts: Attempts, started: Started) -> Iterator[None]:
        """The first process notes that the attempt begins, and how long it took if it fails."""
        if not self.parts.trainer.is_global_zero:
            yield
            return
        attempts.begin(self.origin(started))
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # what is raised says more than a full disk would
                attempts.end(self.origin(started))
            raise

    def origin(self, started: Started) -> dict[str, Any]:
        return provenance(self.config, started, str(self.parts.trainer.strategy.root_device))

    def fit(self) -> None:
        from jumpbench.tables.runs.checkpoints import resume_point

        parts, checkpoints = self.parts, self.folder / CHECKPOINTS
        resumed = resume_point(checkpoints, self.hash)
        try:
            parts.trainer.fit(
                parts.method,
                datamodule=parts.data,
                ckpt_path=str(resumed) if resumed else None,
                weights_only=True,
            )
        except Exception as error:
            known = users_error(error)
            beyond = known or parts.finite.diverged(parts.method, parts.trainer.global_step, error)
            if known or beyond is None:
                raise
            raise beyond from error
        with disk_errors(checkpoints):
            parts.trainer.save_checkpoint(checkpoints / LAST_CHECKPOINT)
        spent = parts.method.spent
        self.metrics |= {
            "run/fit_seconds": parts.clock.seconds,
            "run/steps": float(parts.trainer.global_step),
            "run/fit_network_evaluations": spent.network_evaluations,
            "run/fit_energy_evaluations": spent.energy_evaluations,
        }

    def test(self) -> None:
        parts, started = self.parts, time.monotonic()
        parts.trainer.test(parts.method, datamodule=parts.data, verbose=False)
        self.metrics["run/test_seconds"] = time.monotonic() - started
        results = {name: plain(value) for name, value in parts.method.results.items()}
        if results.get("invalid", 0.0) == 1.0:
            raise UserError(
                "no step of the simulation had usable rates (invalid is 1): the network gives "
                "values that are not finite; a lower learning rate may help"
            )
        self.metrics |= results

    def count(self) -> None:
        """What its training would hold in memory; nothing is trained."""
        from jumpbench.tables.price.kept import training_memory

        self.metrics |= training_memory(self.config)

    def finish(self, origin: dict[str, Any]) -> None:
        """Write what the run leaves behind, with its provenance; ``metrics.json`` last."""
        import torch

        from jumpbench.tables.runs.checkpoints import keep_last_only
        from jumpbench.tables.runs.spent import spent

        method = self.parts.method
        artifacts = dict(method.artifacts)
        by_sample = artifacts.pop(BY_SAMPLE, None)
        if artifacts:
            buffer = io.BytesIO()
            torch.save(artifacts, buffer)
            write_atomic(self.folder / SAMPLES, buffer.getvalue())
        self.metrics |= spent(self.metrics, self.needed)
        self.metrics["run/peak_memory_gb"] = origin["peak_memory_gb"]
        write_json(self.folder / PROVENANCE, origin)
        finished = {"run": self.hash, "metrics": self.metrics, "seed": self.config["seed"]}
        if by_sample:
            finished[BY_SAMPLE] = by_sample
        write_json(self.folder / METRICS, finished)
        method.shards.remove()
        keep_last_only(self.folder / CHECKPOINTS)
