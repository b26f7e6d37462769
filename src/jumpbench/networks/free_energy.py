"""A scalar network of time: the free energy along an annealing path (LEAPS)."""

import torch
from torch import Tensor, nn


class FreeEnergy(nn.Module):
    """Scalar network ``F(t)`` for ``-log Z_t`` up to a constant; the loss needs ``dF/dt`` only."""

    def __init__(self, hidden: int = 200, depth: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(1, hidden), nn.SiLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(hidden, hidden), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 1, bias=False))

    def forward(self, t: Tensor) -> Tensor:
        """(B,) to (B,)."""
        return self.layers(t[:, None])[:, 0]

    def derivative(self, t: Tensor) -> Tensor:
        """``dF/dt``, (B,), differentiable in the parameters (forward mode, one pass)."""
        return torch.func.jvp(self.forward, (t,), (torch.ones_like(t),))[1]
