"""Wolff's single-cluster moves of Ising and Potts models, many chains at once."""

import torch
from torch import Tensor

from jumpbench.samplers.clusters.bonds import bond_probability, open_bonds
from jumpbench.samplers.clusters.labels import cluster_labels
from jumpbench.samplers.clusters.swendsen_wang import ClusterInfo
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts


@torch.no_grad()
def wolff(
    target: Ising | Potts, x: Tensor, n_moves: int, generator: torch.Generator
) -> tuple[Tensor, ClusterInfo]:
    """``n_moves`` single-cluster moves per chain from the states ``x (B, D)``, left as they are.

    A move takes the cluster of a uniform site and gives it one of the N - 1 other symbols. All
    bonds of the lattice are opened and labelled at once, which has the same law as growing one
    cluster from its seed, and over a batch costs fewer passes than growing along frontiers.

    Raises:
        UserError: a field, a negative coupling, or a target that is not Ising or Potts.
    """
    probability = bond_probability(target)
    shape = x.shape
    batch = x.shape[0]
    x = target.grid(x.to(torch.uint8))
    random = {"generator": generator, "device": x.device}
    for _ in range(n_moves):
        labels, _ = cluster_labels(*open_bonds(x, probability, generator))
        seed = torch.randint(target.length, (batch, 1), **random)
        chosen = labels == labels.view(batch, -1).gather(1, seed).unsqueeze(-1)
        shift = torch.randint(1, target.n_states, (batch, 1, 1), dtype=x.dtype, **random)
        x = torch.where(chosen, (x + shift) % target.n_states, x)
    return x.reshape(shape), ClusterInfo(n_moves)
