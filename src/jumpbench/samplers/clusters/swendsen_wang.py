"""Swendsen-Wang sweeps of Ising and Potts models, many chains at once."""

import torch
from torch import Tensor

from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.chain import ChainInfo, never_rejected
from jumpbench.samplers.clusters.bonds import bond_probability, cluster_field, open_bonds
from jumpbench.samplers.clusters.labels import cluster_labels
from jumpbench.targets.lattice import LatticeTarget


class SwendsenWang:
    """A step is a sweep: bonds are opened and every cluster gets a fresh symbol.

    The symbol is uniform, or, with a field b, n with probability proportional to exp(|C| b[n]).

    Each bond between equal neighbours opens with probability 1 - exp(-beta J) (Potts) or
    1 - exp(-2 beta J) (Ising). No Python loop depends on the number of chains, sites or clusters.

    Raises:
        UserError: a target without clusters, see :func:`~jumpbench.samplers.clusters.bonds.
            bond_probability`.
    """

    @torch.no_grad()
    def __call__(
        self, target: LatticeTarget, x: Tensor, steps: int, generator: torch.Generator | None = None
    ) -> tuple[Tensor, ChainInfo]:
        probability = bond_probability(target)
        field = cluster_field(target, x.device)
        shape, dtype = x.shape, x.dtype
        # Bytes: comparing and moving states is then cheap beside drawing the bonds' uniforms.
        x = target.grid(x.to(torch.uint8, copy=True))
        for _ in range(steps):
            labels, bound = cluster_labels(*open_bonds(x, probability, generator))
            flat = labels.view(-1)
            if field is None:
                symbols = torch.randint(
                    target.n_states, (bound,), generator=generator, device=x.device, dtype=x.dtype
                )
            else:
                sites = torch.zeros(bound, device=x.device)
                sites.index_add_(0, flat, torch.ones_like(flat, dtype=torch.float32))
                symbols = sample_categorical(sites.outer(field).softmax(-1), generator).to(x.dtype)
            x = symbols.index_select(0, flat).view(x.shape)
        x = x.reshape(shape).to(dtype)
        return x, ChainInfo(never_rejected(x), steps, steps)
