"""The Curie-Weiss magnet: a target whose states lump exactly by their number of up spins.

D spins, log nu(x) = K/(2D) (sum_i s_i)^2. Every spin feels the field K m of the mean spin m, as it
does in the mean-field picture of the square lattice at K = 4 beta, whose transition is at K = 1.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


def log_choose(n: Tensor, k: Tensor) -> Tensor:
    """log of the binomial coefficient, -inf outside 0 <= k <= n; shapes broadcast."""
    inside = (k >= 0) & (k <= n)
    n, k = torch.where(inside, n, 0.0), torch.where(inside, k, 0.0)
    value = torch.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
    return torch.where(inside, value, -torch.inf)


@dataclass(frozen=True)
class CurieWeiss:
    """Functions of k = 0..D, the number of up spins, as tensors (D + 1,) float64.

    Args:
        spins: D.
        strength: K.
    """

    spins: int
    strength: float

    @cached_property
    def up(self) -> Tensor:
        """k itself."""
        return torch.arange(self.spins + 1, dtype=torch.float64)

    @cached_property
    def log_states(self) -> Tensor:
        """log of the number of states with k up spins."""
        return log_choose(torch.full_like(self.up, self.spins), self.up)

    @cached_property
    def log_nu(self) -> Tensor:
        """log nu of one state with k up spins, not normalised."""
        return self.strength / (2 * self.spins) * (2 * self.up - self.spins) ** 2

    @cached_property
    def law(self) -> Tensor:
        """P(k) under nu."""
        return (self.log_nu + self.log_states).softmax(0)

    @cached_property
    def mode(self) -> Tensor:
        """1 where most spins are up, -1 where most are down, 0 at a tie."""
        return (2 * self.up - self.spins).sign()


def flip_ratios(log_potential: Tensor) -> Tensor:
    """Log-ratios of a potential f(k) for one flipped spin, (D + 1,) -> (2, D + 1).

    First log f(k + 1) - log f(k), a down spin that goes up, then log f(k - 1) - log f(k); 0 where
    there is no such spin.
    """
    step, none = log_potential.diff(), log_potential.new_zeros(1)
    return torch.stack([torch.cat([step, none]), torch.cat([none, -step])])
