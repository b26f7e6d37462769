"""Single-site Metropolis chains on a lattice, as a row of the tables."""

import torch
from torch import Tensor

from jumpbench.methods.dasbs.baselines.chains import Chains
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis


class Metropolis(Chains):
    """Random-scan single-site Metropolis from uniform states; a move is ONE proposal, not a sweep.

    The proposal is uniform over the other symbols (Ising: a flip) and accepted with probability
    min(1, exp(-beta dE)). The defaults of :class:`Chains` are those of the published sampler,
    65,536 single proposals of burn-in and 128 between configurations: 114 sweeps at L = 24, which
    does not equilibrate below the critical temperature. What the published rows were run with is
    not known, so ``sweeps_per_chain`` is logged beside them. A fair row has a
    ``burn_in`` of 10^4 sweeps, 5,760,000 at L = 24.
    """

    def advance(self, x: Tensor, n_moves: int, generator: torch.Generator) -> Tensor:
        return LatticeMetropolis()(self.target, x, n_moves, generator)[0]

    def summary(self, samples: Tensor) -> dict[str, float]:
        values = super().summary(samples)
        return values | {"sweeps_per_chain": values["moves_per_chain"] / self.target.length}
