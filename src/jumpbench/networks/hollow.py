"""What locally equivariant networks with hollow features share: the readout and positions.

Hollow features ``H`` (B, D, h) of a state do not see, at site i, the symbol ``x_i``. The readout

    G(n, i | x) = <omega_n - omega_{x_i}, H_i(x)>

is then locally equivariant, G(n, i | x) = -G(x_i, i | x^{i<-n}), for any number of symbols
(DNFS, Ou et al. 2025, section 4).
"""

import math

import torch
from torch import Tensor, nn

POSITION_STD = 0.01


class HollowReadout(nn.Module):
    """G (B, D, N) of hollow features (B, D, h), exactly 0 at the current symbols.

    Args:
        n_states: N.
        hidden: h.
        scale: of the initial omega; 1 is the default of linear layers, at which an untrained
            network already drifts.
    """

    def __init__(self, n_states: int, hidden: int, scale: float = 1.0) -> None:
        super().__init__()
        self.omega = nn.Parameter(torch.empty(n_states, hidden))
        nn.init.kaiming_uniform_(self.omega, a=math.sqrt(5))
        with torch.no_grad():
            self.omega.mul_(scale)

    def forward(self, x: Tensor, hollow: Tensor) -> Tensor:
        score = hollow @ self.omega.T
        return score - score.gather(-1, x.long().unsqueeze(-1))


def position_table(*shape: int) -> nn.Parameter:
    """Learned positions, N(0, 0.01^2)."""
    return nn.Parameter(torch.randn(*shape) * POSITION_STD)
