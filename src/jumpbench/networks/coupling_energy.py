"""The energy of a pairwise model of spins with free couplings (Ising learning, Table 4)."""

import torch
from torch import Tensor, nn


class CouplingEnergy(nn.Module):
    """E(x) = -s^T J s, s = 2 x - 1, with J a free (D, D) matrix, symmetrised, zero diagonal.

    Args:
        length: D.
        n_states: 2.
        l1: weight of the sum of all |J_ij|, both of each pair.
        std: of the initial entries.
    """

    off_diagonal: Tensor

    def __init__(self, length: int, n_states: int = 2, l1: float = 0.05, std: float = 0.01) -> None:
        super().__init__()
        if n_states != 2:
            raise ValueError(f"spins have two states, not {n_states}")
        self.length, self.n_states, self.l1 = length, n_states, l1
        self.raw = nn.Parameter(std * torch.randn(length, length))
        self.register_buffer("off_diagonal", 1 - torch.eye(length), persistent=False)

    @property
    def couplings(self) -> Tensor:
        """J (D, D)."""
        return (self.raw + self.raw.T) / 2 * self.off_diagonal

    def penalty(self) -> Tensor:
        return self.l1 * self.couplings.abs().sum()

    def forward(self, x: Tensor) -> Tensor:
        spins = 2 * x.to(self.raw.dtype) - 1
        return -(spins @ self.couplings * spins).sum(-1)

    def neighbor_differences(self, x: Tensor) -> Tensor:
        """E(x with site i set to n) - E(x), (..., D) -> (..., D, 2)."""
        spins = 2 * x.to(self.raw.dtype) - 1
        flip = (4 * spins * (spins @ self.couplings)).unsqueeze(-1)
        return flip * (torch.arange(2, device=x.device) != x.unsqueeze(-1))
