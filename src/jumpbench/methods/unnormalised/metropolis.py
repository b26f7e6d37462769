"""Single-site Metropolis chains on a lattice, as a row of the tables."""

import torch
from torch import Tensor

from jumpbench.methods.unnormalised.chains import Chains
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.mcmc.lattice_metropolis import lattice_metropolis


class Metropolis(Chains):
    """Random-scan single-site Metropolis from uniform states; a move is ONE proposal, not a sweep.

    The proposal is uniform over the other symbols (Ising: a flip) and accepted with probability
    min(1, exp(-beta dE)). The defaults of :class:`Chains` are those of the published sampler,
    65,536 single proposals of burn-in and 128 between configurations: 114 sweeps at L = 24, which
    does not equilibrate below the critical temperature. What the published rows were run with is
    not known, so every sample carries ``sweeps_per_chain``. A fair row has a ``burn_in`` of 10^4
    sweeps, 5,760,000 at L = 24.
    """

    def advance(
        self, x: Tensor, n_moves: int, generator: torch.Generator
    ) -> tuple[Tensor, Cost]:
        x, _ = lattice_metropolis(self.target, x, n_moves, generator)
        return x, Cost(energy_evaluations=n_moves, sequential_steps=n_moves)

    def ensemble(self, kept: Tensor, cost: Cost, values: dict[str, float]) -> Draws:
        sweeps = values["moves_per_chain"] / self.target.length
        return super().ensemble(kept, cost, values | {"sweeps_per_chain": sweeps})
