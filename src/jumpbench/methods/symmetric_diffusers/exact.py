"""Closed-form quantities of the paper as methods without training."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.base import Method
from jumpbench.methods.symmetric_diffusers.construction import chain_to, push_forward
from jumpbench.processes.permutations import all_permutations
from jumpbench.processes.shuffles import choose_schedule, tv_between, tv_to_uniform


class ShuffleDistances(Method):
    """Figure 2: total variation of t riffles from uniform and from s riffles, exactly.

    Logs ``tv@T`` (to uniform), ``tv@S,T`` for 1 <= S < T <= ``max_steps``, and ``first_below``,
    the first t with distance <= ``threshold`` (``max_steps + 1`` where there is none).
    """

    def __init__(self, n: int, max_steps: int = 15, threshold: float = 0.005, seed: int = 0):
        super().__init__(seed)
        if n < 2 or max_steps < 1:
            raise UserError(f"n = {n} cards and max_steps = {max_steps}: use n >= 2, steps >= 1")
        self.n, self.max_steps, self.threshold = n, max_steps, threshold

    def test_step(self, batch: Tensor, batch_index: int) -> None:
        times = range(1, self.max_steps + 1)
        curve = [float(tv_to_uniform(self.n, t)) for t in times]
        for t, value in zip(times, curve, strict=True):
            self.log(f"test/tv@{t}", value, batch_size=1)
            for s in range(1, t):
                self.log(f"test/tv@{s},{t}", float(tv_between(self.n, t, s)), batch_size=1)
        below = [t for t, value in zip(times, curve, strict=True) if value <= self.threshold]
        first = below[0] if below else self.max_steps + 1
        self.log("test/first_below", float(first), batch_size=1)
        self.artifacts["schedule"] = choose_schedule(self.n, distance=self.threshold)


class ReachedLaws(Method):
    """Figure 3: laws on S_n along the chain of Theorem 6, from uniform to ``target``.

    Logs ``mass@K,PERMUTATION`` for the start (K = 0) and after every step, permutations in
    one-line notation (``mass@2,132``), and ``final_error``, the largest deviation from the target.
    """

    def __init__(self, n: int, target: Sequence[float], seed: int = 0) -> None:
        super().__init__(seed)
        self.n = n
        self.target = list(target)

    def test_step(self, batch: Tensor, batch_index: int) -> None:
        target = torch.tensor(self.target, dtype=torch.float64)
        try:
            steps = list(chain_to(target, self.n))
        except ValueError as error:
            raise UserError(f"method.target: {error}") from None
        group = all_permutations(self.n)
        laws = [torch.full((len(group),), 1 / len(group), dtype=torch.float64)]
        for scores in steps:
            laws.append(push_forward(laws[-1], scores))
        names = ["".join(str(v + 1) for v in row) for row in group.tolist()]
        for step, law in enumerate(laws):
            for name, mass in zip(names, law.tolist(), strict=True):
                self.log(f"test/mass@{step},{name}", mass, batch_size=1)
        error = (laws[-1] - target).abs().max()
        self.log("test/final_error", float(error), batch_size=1)
        self.artifacts["laws"] = torch.stack(laws)
