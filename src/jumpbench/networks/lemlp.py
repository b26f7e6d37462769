"""leMLP: hollow linear maps between sites (DNFS, Ou et al. 2025, appendix C).

H = sum over k of silu(W^k X + b^k + e_t),   W^k (D, D) with zero diagonal, acting over sites.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from jumpbench.networks.embeddings import TimeEmbedding
from jumpbench.networks.hollow import HollowReadout


class LeMLP(nn.Module):
    """G (B, D, N) of states (B, D) and times (B,), locally equivariant; one layer.

    Args:
        length: D.
        n_states: N.
        hidden: features per site.
        maps: number of W^k.
        readout_scale: see :class:`HollowReadout`.
    """

    others: Tensor

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 64,
        maps: int = 8,
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_states, hidden)
        self.time = TimeEmbedding(hidden)
        self.weight = nn.Parameter(torch.randn(maps, length, length) * length**-0.5)
        self.bias = nn.Parameter(torch.zeros(maps, 1, hidden))
        self.register_buffer("others", 1 - torch.eye(length), persistent=False)
        self.readout = HollowReadout(n_states, hidden, readout_scale)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        x = x.long()
        mixed = torch.einsum("kij,bjh->bkih", self.weight * self.others, self.tokens(x))
        hidden = functional.silu(mixed + self.bias + self.time(t)[:, None, None])
        return self.readout(x, hidden.sum(1))
