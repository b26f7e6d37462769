"""The Ising model on the periodic square lattice."""

import torch
from torch import Tensor

from jumpbench.targets.lattice import PairLattice


class Ising(PairLattice):
    """E(x) = -J sum over edges s_i s_j - h sum over sites s_i, s = 2x - 1; log nu = -beta E.

    ``size`` L >= 3, D = L^2, N = 2. The critical point at h = 0 is
    beta J = log(1 + sqrt 2) / 2 = 0.440687.

    Raises:
        UserError: see :class:`PairLattice`.
    """

    def __init__(
        self,
        size: int,
        beta: float,
        coupling: float = 1.0,
        field: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        spin = torch.tensor([-1.0, 1.0], dtype=torch.float64)
        super().__init__(
            size, beta * coupling * spin[:, None] * spin, beta * field * spin, beta, dtype
        )
        self.coupling = float(coupling)
        self.external_field = float(field)

    def spins(self, x: Tensor) -> Tensor:
        """2x - 1 in the target's dtype."""
        return x.to(self.dtype, copy=True).mul_(2).sub_(1)

    def energy(self, x: Tensor) -> Tensor:
        """E(x), (..., D) -> (...), not multiplied by beta."""
        spins = self.grid(self.spins(x))
        local = spins.roll(1, -1).add_(spins.roll(1, -2)).mul_(self.coupling)
        return local.add_(self.external_field).mul_(spins).sum((-2, -1)).neg_()

    def at(self, beta: float) -> "Ising":
        """The same model at another inverse temperature."""
        return Ising(self.size, beta, self.coupling, self.external_field, self.dtype)
