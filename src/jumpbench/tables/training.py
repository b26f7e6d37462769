"""What the suite adds to a Lightning trainer: a clock, a watch, a log, a budget, finite numbers."""

import csv
import math
import time
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning import Callback, LightningModule, Trainer

from jumpbench.errors import Diverged, UserError
from jumpbench.files import disk_errors, make_folder, write_atomic
from jumpbench.tables.interrupts import Interrupts


class Watch(Protocol):
    """Who is told how far a run is."""

    def progress(self, stage: str, done: int, total: int | None) -> None: ...


class FitClock(Callback):
    """Seconds spent in ``fit``, summed over all attempts that contributed to the run."""

    def __init__(self) -> None:
        self._before = 0.0
        self._started: float | None = None

    @property
    def seconds(self) -> float:
        running = time.monotonic() - self._started if self._started is not None else 0.0
        return self._before + running

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._started = time.monotonic()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._before, self._started = self.seconds, None

    def state_dict(self) -> dict[str, float]:
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        self._before = float(state_dict["seconds"])


class HearSignals(Callback):
    """Gives signals back to ``interrupts``, once Lightning has put its handler in front."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._interrupts.hear_alone()

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._interrupts.hear_alone()


class ReportProgress(Callback):
    """Tell a watch how far the trainer is, a few times a second."""

    def __init__(self, watch: Watch, every: float = 0.2) -> None:
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


class FiniteTraining(Callback):
    """Training that leaves the finite numbers fails; its weights reach no checkpoint, no test.

    Weights and the logged loss are looked at every ``every`` steps (one transfer from the device
    each time), before a checkpoint, and when training ends. A logged ``train/invalid`` of 1 says
    that no step of a simulation had usable rates.
    """

    def __init__(self, every: int = 100) -> None:
        self._every, self._looked = every, 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._looked = trainer.global_step

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        if trainer.global_step - self._looked >= self._every:
            self._look(trainer, pl_module)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self._look(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._look(trainer, pl_module)

    def _look(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Raises :class:`Diverged`."""
        self._looked = trainer.global_step
        logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
        wrong = [
            f"{name} is {value}"
            for name, value in logged.items()
            if (name.endswith("loss") and not math.isfinite(value))
            or (name == "train/invalid" and value >= 1.0)
        ]
        if bad := not_finite(pl_module):
            total = sum(1 for _ in pl_module.parameters())
            wrong.append(f"{bad} of {total} weight tensors are not finite")
        if wrong:
            raise Diverged(
                f"training diverged by step {self._looked}: {', '.join(wrong)}; "
                "a lower learning rate may help"
            )


ABSURD = 1e12
"""A weight that large is none: float32 leaves nothing of what it is added to."""


def not_finite(module: torch.nn.Module) -> int:
    """Number of parameter tensors with an infinite or undefined entry; one transfer per device."""
    return int((~largest_entries(module).isfinite()).sum())


def largest_entries(module: torch.nn.Module) -> torch.Tensor:
    """The largest absolute entry of every parameter tensor."""
    parameters = [p.detach() for p in module.parameters() if p.is_floating_point() and p.numel()]
    if not parameters:
        return torch.zeros(0)
    # A sum of squares may overflow where all entries are finite; the largest entry cannot.
    return torch.stack([x.float() for x in torch._foreach_norm(parameters, math.inf)])


def diverged(module: torch.nn.Module, step: int, error: Exception) -> Diverged | None:
    """What ``error``, raised in training, comes from, if the weights are beyond use."""
    largest = largest_entries(module)
    beyond = int((~(largest < ABSURD)).sum())
    if not beyond:
        return None
    what = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return Diverged(
        f"training diverged by step {step}: {beyond} of {len(largest)} weight tensors are not "
        f"finite or above {ABSURD:g} ({what[:120] or type(error).__name__}); "
        "a lower learning rate may help"
    )


class Budget(Callback):
    """Ends training once one of its costs is spent, over all attempts.

    Args:
        clock: of the run's training.
        seconds: of training; makes the result depend on the machine.
        network_evaluations: states put through a network.
        energy_evaluations: states whose energy, likelihood or reward was evaluated.
    """

    def __init__(
        self,
        clock: FitClock,
        seconds: float | None = None,
        network_evaluations: float | None = None,
        energy_evaluations: float | None = None,
    ) -> None:
        self._clock = clock
        self._limits = {
            "seconds": seconds,
            "network_evaluations": network_evaluations,
            "energy_evaluations": energy_evaluations,
        }
        for name, limit in self._limits.items():
            if limit is not None and not (isinstance(limit, (int, float)) and limit > 0):
                raise UserError(f"budget.{name}={limit}: give a positive number, or null")
        self.spent_on: str | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.spent_on is not None:  # resumed behind the end: not one step more
            trainer.should_stop = True

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        cost = pl_module.spent
        for name, limit in self._limits.items():
            used = self._clock.seconds if name == "seconds" else getattr(cost, name)
            over = limit is not None and used >= limit
            if name == "seconds" and limit is not None and trainer.world_size > 1:
                over = trainer.strategy.broadcast(over)
            if over:
                self.spent_on = name
                trainer.should_stop = True
                return

    def state_dict(self) -> dict[str, str | None]:
        return {"spent_on": self.spent_on}

    def load_state_dict(self, state_dict: dict[str, str | None]) -> None:
        self.spent_on = state_dict["spent_on"]


class TrainingLog(Callback):
    """What a module logs, every ``trainer.log_every_n_steps`` steps and behind validations, as csv.

    Rows are written as they come. A resumed run drops those behind its checkpoint, so that the file
    is the same as if it had not been stopped. ``step`` counts updates of weights.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._batches = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        rows = self._rows()
        kept = [row for row in rows if float(row["step"] or "inf") <= trainer.global_step]
        self._columns = list(rows[0]) if rows else []
        if kept != rows:
            self._write(kept)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        self._batches += 1
        if self._batches % trainer.log_every_n_steps == 0:
            self._add(trainer, validation=False)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self._add(trainer, validation=True)

    def state_dict(self) -> dict[str, int]:
        return {"batches": self._batches}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self._batches = int(state_dict["batches"])

    def _add(self, trainer: Trainer, validation: bool) -> None:
        metrics = trainer.callback_metrics
        row: dict[str, Any] = {
            name: float(value)
            for name, value in metrics.items()
            if name.startswith("val") is validation
        }
        if not row or not trainer.is_global_zero:
            return
        row = {"step": trainer.global_step} | row
        with disk_errors(self._path):
            if set(row) <= set(self._columns) and self._path.exists():
                with self._path.open("a", newline="") as file:
                    csv.DictWriter(file, self._columns).writerow(row)
                return
            self._columns = [*self._columns, *(name for name in row if name not in self._columns)]
            self._write([*self._rows(), row])

    def _rows(self) -> list[dict[str, Any]]:
        if not self._path.is_file():
            return []
        with self._path.open(newline="", errors="replace") as file:
            return [row for row in csv.DictReader(file) if _is_number(row.get("step"))]

    def _write(self, rows: list[dict[str, Any]]) -> None:
        make_folder(self._path.parent)
        lines = [",".join(self._columns)]
        lines += [
            ",".join(str(row.get(c) or row.get(c, "")) for c in self._columns) for row in rows
        ]
        write_atomic(self._path, "\n".join(lines) + "\n")


def _is_number(text: Any) -> bool:
    try:
        return math.isfinite(float(text))
    except (TypeError, ValueError):
        return False
