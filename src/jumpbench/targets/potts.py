"""The Potts model on the periodic square lattice."""

import torch
from torch import Tensor

from jumpbench.targets.lattice import PairLattice


class Potts(PairLattice):
    """E(x) = -J sum over edges 1[x_i = x_j]; log nu = -beta E.

    ``size`` L >= 3, D = L^2. The transition is at beta J = log(1 + sqrt N).
    At N = 2 and twice the beta it is the Ising model, with E_ising = 2 E_potts + 2 J L^2.

    Raises:
        UserError: see :class:`PairLattice`.
    """

    def __init__(
        self,
        size: int,
        n_states: int,
        beta: float,
        coupling: float = 1.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        pair = beta * coupling * torch.eye(n_states, dtype=torch.float64)
        super().__init__(size, pair, torch.zeros(n_states), beta, dtype)
        self.coupling = float(coupling)

    def energy(self, x: Tensor) -> Tensor:
        """E(x), (..., D) -> (...), not multiplied by beta."""
        grid = self.grid(x)
        equal = (grid == grid.roll(1, -1)).to(self.dtype).add_(grid == grid.roll(1, -2))
        return equal.sum((-2, -1)).mul_(-self.coupling)

    def at(self, beta: float) -> "Potts":
        """The same model at another inverse temperature."""
        return Potts(self.size, self.n_states, beta, self.coupling, self.dtype)
