"""Figure 2: how far t riffle shuffles are from uniform, and from s of them."""

from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.processes.shuffles import choose_schedule, tv_between, tv_to_uniform
from jumpbench.samplers.draws import Draws


class ShuffleDistances(Method):
    """Exact total variations of riffles of n cards; nothing is drawn.

    Results: ``tv@T`` (to uniform), ``tv@S,T`` for 1 <= S < T <= ``max_steps``, and
    ``first_below``, the first t with distance <= ``threshold`` (``max_steps + 1`` where there is
    none). Artifact: the schedule that the rule for merged steps chooses.
    """

    def __init__(self, n: int, max_steps: int = 15, threshold: float = 0.005, seed: int = 0):
        super().__init__(seed)
        if n < 2 or max_steps < 1:
            raise UserError(f"n = {n} cards and max_steps = {max_steps}: use n >= 2, steps >= 1")
        self.n, self.max_steps, self.threshold = n, max_steps, threshold

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        return Draws(torch.empty(0, self.n, dtype=torch.long))

    def further_results(self) -> dict[str, float]:
        times = range(1, self.max_steps + 1)
        curve = {t: float(tv_to_uniform(self.n, t)) for t in times}
        below = [t for t, value in curve.items() if value <= self.threshold]
        pairs = {f"tv@{s},{t}": float(tv_between(self.n, t, s)) for t in times for s in range(1, t)}
        first = below[0] if below else self.max_steps + 1
        return {f"tv@{t}": value for t, value in curve.items()} | pairs | {"first_below": first}

    def further_artifacts(self) -> dict[str, Any]:
        return {"schedule": choose_schedule(self.n, distance=self.threshold)}
