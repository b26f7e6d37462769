"""What the suite adds to a Lightning trainer: a clock, a watch, a budget."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Protocol

from lightning import Callback, LightningModule, Trainer

from jumpbench.errors import UserError
from jumpbench.samplers.progress import listening
from jumpbench.stopwatch import Stopwatch
from jumpbench.tables.runs.interrupts import Interrupts


class Watch(Protocol):
    """Who is told how far a run is."""

    def progress(self, stage: str, done: float, total: int | None, watched: str = "") -> None: ...


class FitClock(Callback):
    """Seconds of a :class:`~jumpbench.stopwatch.Stopwatch` in ``fit``, summed over all attempts."""

    def __init__(self) -> None:
        self._before = 0.0
        self._watch: Stopwatch | None = None

    @property
    def seconds(self) -> float:
        return self._before + (self._watch.seconds if self._watch is not None else 0.0)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._watch = Stopwatch(pl_module.device)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._before, self._watch = self.seconds, None

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
    """Tell a watch how far the trainer is and what its loss is, a few times a second.

    Samplers that say how far a long draw is (:mod:`jumpbench.samplers.progress`) are heard while
    a test batch lasts.
    """

    def __init__(self, watch: Watch, every: float = 0.2) -> None:
        self._watch, self._every, self._last = watch, every, 0.0
        self._draws = ExitStack()

    def _tell(self, stage: str, done: float, total: float, watched: str = "") -> None:
        self._last = time.monotonic()
        finite = 0 < total < float("inf")
        self._watch.progress(stage, done, int(total) if finite else None, watched)

    def _due(self) -> bool:
        return time.monotonic() - self._last >= self._every

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, *_: Any) -> None:
        if self._due():
            steps = trainer.max_steps
            total = steps if steps > 0 else trainer.estimated_stepping_batches
            self._tell("fit", trainer.global_step, total, _watched(trainer, outputs))

    def on_test_batch_start(
        self, trainer: Trainer, module: Any, batch: Any, index: int, *_: Any
    ) -> None:
        def heard(share: float) -> None:
            if self._due():
                self._tell("test", index + share, sum(trainer.num_test_batches))

        self._draws.enter_context(listening(heard))

    def on_test_batch_end(
        self, trainer: Trainer, module: Any, outputs: Any, batch: Any, index: int, *_: Any
    ) -> None:
        self._draws.close()
        if self._due():
            self._tell("test", index + 1, sum(trainer.num_test_batches))

    def on_exception(self, *_: Any) -> None:
        self._draws.close()


def _watched(trainer: Trainer, outputs: Any) -> str:
    """``loss 0.123``; empty if the method has none.

    What a method logs is asked for on one device alone: elsewhere all processes would have to ask.
    """
    value = outputs.get("loss") if isinstance(outputs, Mapping) else None
    if value is None and trainer.world_size == 1:
        value = trainer.callback_metrics.get("train/loss")
    return "" if value is None else f"loss {float(value):.4g}"


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
