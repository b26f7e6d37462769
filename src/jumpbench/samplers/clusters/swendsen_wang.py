"""Swendsen-Wang sweeps of Ising and Potts models, many chains at once."""

from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.samplers.clusters.bonds import bond_probability, open_bonds
from jumpbench.samplers.clusters.labels import cluster_labels
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts


class ClusterInfo(NamedTuple):
    """``n_sweeps``: sweeps (or single-cluster moves) done per chain."""

    n_sweeps: int


@torch.no_grad()
def swendsen_wang(
    target: Ising | Potts, x: Tensor, n_sweeps: int, generator: torch.Generator
) -> tuple[Tensor, ClusterInfo]:
    """``n_sweeps`` sweeps from the states ``x (B, D)``, which are left as they are.

    A sweep opens each bond between equal neighbours with probability 1 - exp(-beta J) (Potts) or
    1 - exp(-2 beta J) (Ising) and gives every connected cluster a fresh uniform symbol. No step
    depends on the number of chains, sites or clusters by a Python loop.

    Raises:
        UserError: a field, a negative coupling, or a target that is not Ising or Potts.
    """
    probability = bond_probability(target)
    shape = x.shape
    # Bytes: comparing and moving states is then cheap beside drawing the bonds' uniforms.
    x = target.grid(x.to(torch.uint8))
    for _ in range(n_sweeps):
        labels, bound = cluster_labels(*open_bonds(x, probability, generator))
        symbols = torch.randint(
            target.n_states, (bound,), generator=generator, device=x.device, dtype=x.dtype
        )
        x = symbols.index_select(0, labels.view(-1)).view(x.shape)
    return x.reshape(shape), ClusterInfo(n_sweeps)
