"""The work and the memory of a run's training and of its test stage, step by step.

A few training steps stand for all: some at the beginning, where memories of roll-outs are filled,
and some later. What a method does every so many steps only, it says by an attribute whose name ends
in ``_every``: that is set to 1 for a step, and what the step takes beyond its neighbour is shared
out. One test batch stands for all of them. What judges the samples is not counted.
"""

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from jumpbench.errors import UserError
from jumpbench.tables.price.ledger import Ledger
from jumpbench.tables.price.memory import held_by, memory
from jumpbench.tables.price.operators import Work
from jumpbench.tables.price.repeated import counting_saved
from jumpbench.tables.price.stand_ins import Trainer

PLACES = (0.0, 0.02, 0.15, 0.45, 0.8)
"""Where in a training steps are traced; each stands for the steps that are nearest to it."""


class Trace:
    """The stages of one run, counted."""

    def __init__(
        self, method: Any, trainer: Trainer, config: dict[str, Any], ledger: Ledger | None = None
    ) -> None:
        self.method, self.trainer, self.ledger = method, trainer, ledger or Ledger(float("inf"))
        self.settings, self.budget = config["trainer"], config.get("budget") or {}
        self.total, self.steps, self.saved, self.held = Work(), 0.0, 0.0, 0.0
        self.optimisers: list[Any] = []
        self._taken = 0

    # Training

    def begin(self) -> None:
        """What Lightning does before the first step."""
        method = self.method
        self.optimisers = _listed(method.configure_optimizers())
        for optimiser in self.optimisers:
            optimiser.register_step_post_hook(self._note_step)
        several = len(self.optimisers) > 1
        method.optimizers = lambda *args: self.optimisers if several else self.optimisers[0]
        method.on_fit_start()

    def fit(self, batch: Any, length: float) -> None:
        self.begin()
        limits = {k: v for k, v in self.budget.items() if v and k != "seconds"}
        steps = float(self.trainer.max_steps)
        if steps <= 0:
            steps = int(self.settings.get("max_epochs") or 0) * length
        if not 0 < steps < float("inf"):
            raise UserError("it trains for a time, not for a number of steps")
        places = sorted({int(steps * share) for share in PLACES})
        means, spent = self._means(places, batch)
        for kind, limit in limits.items():
            if spent.get(kind):
                steps = min(steps, limit / spent[kind])
        for i, mean in enumerate(means):
            first = (places[i - 1] + places[i]) / 2 if i else 0.0
            last = (places[i] + places[i + 1]) / 2 if i + 1 < len(means) else steps
            self.total += mean * max(min(last, steps) - min(first, steps), 0.0)
        self.steps = steps

    def _means(self, places: list[int], batch: Any) -> tuple[list[Work], dict[str, float]]:
        """Mean work of a step at each of the places, and evaluations a step."""
        means: list[Work] = []
        every, spent = list(periods(self.method)), {}
        for place in places:
            at = place - place % 100 if place > 300 else place
            events = []
            for owner, name, period in every:
                setattr(owner, name, 1)
                events.append((self.step(batch, at)[0], period))
                setattr(owner, name, period)
            before = vars(self.method.spent).copy()
            plain, taken = self.step(batch, at + 1)
            spent = {k: (v - before[k]) / taken for k, v in vars(self.method.spent).items()}
            for event, period in events:
                plain += (event - plain).positive() * (1 / period)
            means.append(plain * (1 / taken))
            if not every and len(means) == 2 and means[0] == means[1]:
                break  # a step is like the other
        return means, spent

    def step(self, batch: Any, number: int) -> tuple[Work, int]:
        """The work of one call of the training step, and the optimiser's steps in it."""
        self.trainer.global_step, self._taken = number, 0
        weights = list(self.method.parameters())
        with self.ledger.apart() as work, counting_saved(work, weights):
            if self.method.automatic_optimization:
                optimiser = self.optimisers[0]
                closure = functools.partial(self._closure, optimiser, batch, number)
                self.method.optimizer_step(0, number, optimiser, closure)
            else:
                self.method.training_step(batch, number)
        self.saved = max(self.saved, work.saved)
        self.held = max(self.held, held_by(self.method))
        return work, max(self._taken, 1)

    def _closure(self, optimiser: Any, batch: Any, number: int) -> Any:
        optimiser.zero_grad()
        loss = self.method.training_step(batch, number)
        if loss is not None:
            (loss["loss"] if isinstance(loss, dict) else loss).backward()
            limit = self.settings.get("gradient_clip_val")
            self.method.configure_gradient_clipping(optimiser, gradient_clip_val=limit)
        return loss

    def _note_step(self, *args: Any) -> None:
        self._taken += 1

    # Testing

    @torch.no_grad()
    def test(self, batch: Any, length: float) -> None:
        self.method.on_test_start()
        with self.ledger.apart() as work:
            self.method.draw(batch, self.method.test_generator(0))
        self.total += work * length

    def memory(self) -> dict[str, float]:
        """GiB, by what holds it (:func:`~jumpbench.tables.price.memory.memory`)."""
        parts = int(self.settings.get("accumulate_grad_batches") or 1)
        needed = self.saved / parts + self.ledger.largest
        return memory(self.method, self.optimisers, needed, self.held)


def periods(method: nn.Module) -> Iterator[tuple[Any, str, int]]:
    """Attributes that say after how many steps something is done again."""
    for module in method.modules():
        for name, value in list(vars(module).items()):
            if name.endswith("_every") and type(value) is int and value > 1:
                yield module, name, value


def _listed(found: Any) -> list[Any]:
    """The optimisers in what ``configure_optimizers`` gives."""
    if isinstance(found, dict):
        return [found["optimizer"]]
    if not isinstance(found, list | tuple):
        return [found]
    if isinstance(found[0], list | tuple):
        return list(found[0])
    return [one["optimizer"] if isinstance(one, dict) else one for one in found]
