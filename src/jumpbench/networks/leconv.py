"""leConv on states that are no square lattice: padded with constant sites."""

import math
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from jumpbench.networks.locally_equivariant import LocallyEquivariantConvolution


class LeConv(nn.Module):
    """The convolution of LEAPS on ``D`` sites laid out row by row on the smallest square lattice.

    Sites beyond D hold symbol 0 (spin -1) and never move; their part of the flux is dropped, so
    G (B, D, N) stays locally equivariant. For 32 bits the lattice is 6 x 6.

    Args:
        length: D.
        n_states: N.
        channels: see :class:`LocallyEquivariantConvolution`.
        kernel_sizes: likewise.
        readout_scale: likewise.
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        channels: int = 20,
        kernel_sizes: Sequence[int] = (3, 5),
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        side = math.isqrt(length - 1) + 1
        self.padding = side**2 - length
        self.convolution = LocallyEquivariantConvolution(
            side**2, n_states, channels, kernel_sizes, readout_scale
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        flux = self.convolution(functional.pad(x, (0, self.padding)), t)
        return flux[:, : x.shape[1]]
