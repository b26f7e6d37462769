"""Markov chains as methods: what Metropolis, Swendsen-Wang and the ground truth share."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.diagnostics import integrated_autocorrelation_time, split_rhat
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget, check_target, random_states


class Chains(TargetSampler):
    """Parallel Markov chains, run in the test stage; one test batch is one ensemble of chains.

    A subclass writes :meth:`advance`. Chains start from uniform states, run ``burn_in`` moves, and
    give one configuration each after every ``spacing`` further moves. Samples come chains first:
    configuration ``chain * collections + draw``. Every sample carries, as extras, its ensemble's
    ``moves_per_chain``, ``tau`` and ``rhat`` (the largest over :func:`summaries`, in kept draws).

    Args:
        target: an Ising or Potts model.
        chains_per_batch: parallel chains per test batch.
        collections: configurations kept of each chain, at least 4 (for the diagnostics).
        burn_in: moves before the first configuration counts.
        spacing: moves per kept configuration.
        kwargs: of :class:`TargetSampler`.

    Raises:
        UserError: counts out of range.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        chains_per_batch: int = 128,
        collections: int = 32,
        burn_in: int = 65536,
        spacing: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(target, chains_per_batch, **kwargs)
        if collections < 4 or burn_in < 0 or spacing < 1:
            raise UserError(
                "chains need collections >= 4, burn_in >= 0 and spacing >= 1, not "
                f"{collections}, {burn_in} and {spacing}"
            )
        self.collections = collections
        self.burn_in = burn_in
        self.spacing = spacing

    @abstractmethod
    def advance(
        self, x: Tensor, n_moves: int, generator: torch.Generator
    ) -> tuple[Tensor, Cost]:
        """``x (B, D)`` uint8 after ``n_moves`` moves of every chain, and their cost per chain."""

    def start(self, n_chains: int, generator: torch.Generator) -> Tensor:
        """Initial states ``(B, D)`` uint8."""
        x = random_states(self.target, (n_chains,), generator)
        check_target(self.target, x)
        return x.to(torch.uint8)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        """One ensemble of ``n`` chains: ``n * collections`` samples."""
        x, cost = self.advance(self.start(n, generator), self.burn_in, generator)
        _, kept, spent = self.collect(x, self.spacing, generator)
        moves = self.burn_in + self.collections * self.spacing
        return self.ensemble(kept, cost + spent, {"moves_per_chain": float(moves)})

    def collect(
        self, x: Tensor, spacing: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Cost]:
        """The last states, the kept ones ``(B, collections, D)``, and the cost per chain."""
        kept, cost = [], Cost()
        for _ in range(self.collections):
            x, spent = self.advance(x, spacing, generator)
            cost += spent
            kept.append(x)
        return x, torch.stack(kept, 1), cost

    def ensemble(self, kept: Tensor, cost: Cost, values: dict[str, float]) -> Draws:
        """Draws of one ensemble ``(B, collections, D)``; a chain's samples share its cost."""
        samples = kept.flatten(0, 1)
        values = values | diagnostics(self.target, kept)
        extras = {
            name: torch.full((len(samples),), value, dtype=torch.float64)
            for name, value in values.items()
        }
        return Draws(samples.long(), cost=cost.scaled(1 / self.collections), extras=extras)


def summaries(target: DiscreteTarget, x: Tensor) -> Tensor:
    """Energy and share of the majority of each configuration, and of symbol 0; ``(3, ...)``."""
    shares = torch.stack([(x == n).double().mean(-1) for n in range(target.n_states)])
    return torch.stack((target.energy(x).double(), shares.amax(0), shares[0]))


def diagnostics(target: DiscreteTarget, samples: Tensor) -> dict[str, float]:
    """Worst autocorrelation time (in kept draws) and R-hat over :func:`summaries`.

    ``samples (chains, n, D)``.
    """
    values = summaries(target, samples)
    worst = torch.stack(
        (integrated_autocorrelation_time(values).max(), split_rhat(values).max())
    ).tolist()
    return {"tau": worst[0], "rhat": worst[1]}
