"""Wolff's single-cluster moves of Ising and Potts models, many chains at once."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, accepts, never_rejected, share
from jumpbench.samplers.clusters.bonds import bond_probability, cluster_field, open_bonds
from jumpbench.samplers.clusters.labels import cluster_labels
from jumpbench.targets.lattice import LatticeTarget


class Wolff:
    """A step takes the cluster C of a uniform site and gives it one of the N - 1 other symbols.

    With a field b, the change from symbol m to n is accepted with probability
    min(1, exp(|C| (b[n] - b[m]))).

    All bonds of the lattice are opened and labelled at once, which has the same law as growing one
    cluster from its seed, and over a batch costs fewer passes than growing along frontiers.

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
        shape, dtype, batch = x.shape, x.dtype, x.shape[0]
        accepted = torch.zeros(batch, device=x.device)
        x = target.grid(x.to(torch.uint8, copy=True))
        random: dict[str, Any] = {"generator": generator, "device": x.device}
        for _ in range(steps):
            labels, _ = cluster_labels(*open_bonds(x, probability, generator))
            seed = torch.randint(target.length, (batch, 1), **random)
            chosen = labels == labels.view(batch, -1).gather(1, seed).unsqueeze(-1)
            shift = torch.randint(1, target.n_states, (batch, 1, 1), dtype=x.dtype, **random)
            if field is not None:
                symbol = x.view(batch, -1).gather(1, seed).long()
                gain = field[(symbol + shift.view(batch, 1)) % target.n_states] - field[symbol]
                sites = chosen.view(batch, -1).sum(1, dtype=torch.float32)
                yes = accepts(sites * gain.view(-1), generator)
                accepted += yes
                chosen = chosen & yes.view(batch, 1, 1)
            turned = (x.to(torch.int16) + shift) % target.n_states  # the sum may exceed a byte
            x = torch.where(chosen, turned.to(x.dtype), x)
        x = x.reshape(shape).to(dtype)
        rate = never_rejected(x) if field is None else share(accepted, steps)
        return x, ChainInfo(rate, steps, steps)
