"""leAttn: attention over the other sites (DNFS, Ou et al. 2025, appendix C).

    H_i = sum over s != i of softmax_{s != i}( <k(u_s), q(u_s)> / sqrt(h / heads) ) v(u_s)

with u_s = token + position + time. Query and key belong to the same site s: a query made of x_i
would leak it.
"""

import torch
from torch import Tensor, nn

from jumpbench.networks.embeddings import TimeEmbedding
from jumpbench.networks.hollow import HollowReadout, position_table


class LeAttn(nn.Module):
    """G (B, D, N) of states (B, D) and times (B,), locally equivariant; one layer.

    Args:
        length: D, at least 2.
        n_states: N.
        hidden: features per site.
        heads: attention heads; they divide ``hidden``.
        readout_scale: see :class:`HollowReadout`.
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 64,
        heads: int = 4,
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(n_states, hidden)
        self.positions = position_table(length, hidden)
        self.time = TimeEmbedding(hidden)
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.register_buffer("self_site", torch.eye(length, dtype=torch.bool), persistent=False)
        self.readout = HollowReadout(n_states, hidden, readout_scale)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        x = x.long()
        u = self.tokens(x) + self.positions + self.time(t)[:, None]
        q, k, v = self.query_key_value(u).unflatten(-1, (3, self.heads, -1)).unbind(2)
        logits = (q * k).sum(-1).transpose(1, 2) / q.shape[-1] ** 0.5
        # Masked, not summed over all sites less one's own: the difference would only be hollow
        # up to the rounding of a sum in which the own term may dominate.
        weights = logits.unsqueeze(2).masked_fill(self.self_site, -torch.inf).softmax(-1)
        mixed = weights @ v.transpose(1, 2)
        return self.readout(x, mixed.transpose(1, 2).flatten(2))
