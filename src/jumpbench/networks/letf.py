"""leTF, the hollow two-stream transformer of DNFS (Ou et al. 2025, section 4 and appendix C).

One stream reads a time token and the sites from the left, the other from the right, both causally.
Shifted by the time token, the output f_i of the first has seen x_1 .. x_{i-1} and b_i of the second
x_{i+1} .. x_d; an attention from the sites to these 2 d features, masked so that site i sees
f_j for j <= i and b_j for j >= i, is hollow again. One pass gives all neighbours.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from jumpbench.networks.embeddings import TimeEmbedding
from jumpbench.networks.hollow import HollowReadout, position_table
from jumpbench.networks.paired import PairedBlock


class StreamAttention(nn.Module):
    """Attention of site i to f_j, j <= i, and b_j, j >= i; then a perceptron.

    c_i = (f_i + b_i) / sqrt 2 + e_t makes the queries, f_j + e_t and b_j + e_t keys and values,
    all after the same layer norm; a position table that all heads share is added to queries and
    keys. The result passes two layer norms in a row, of their own weights each, before the
    perceptron, as in the released code.
    """

    def __init__(self, hidden: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.positions = position_table(length, hidden // heads)
        self.norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, hidden)
        self.perceptron_norm = nn.LayerNorm(hidden)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(hidden),
            nn.Linear(hidden, 4 * hidden),
            nn.GELU(),
            nn.Linear(4 * hidden, hidden),
        )

    def forward(self, streams: Tensor, clock: Tensor, mask: Tensor) -> Tensor:
        """``streams`` (2, B, D, h), ``clock`` (B, 1, h), ``mask`` boolean or bias (.., D, 2 D)."""
        length = streams.shape[2]
        centre = streams.sum(0) / 2**0.5 + clock
        both = self.norm((streams + clock).transpose(0, 1).flatten(1, 2))
        position = self.positions[:length]
        q = self._split(self.query(self.norm(centre))) + position
        k = self._split(self.key(both)) + position.repeat(2, 1)
        v = self._split(self.value(both))
        if mask.is_floating_point():
            mask = mask.to(v.dtype)
        mixed = functional.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, mask)
        centre = centre + self.out(mixed.transpose(1, 2).flatten(2))
        return centre + self.perceptron(self.perceptron_norm(centre))

    def _split(self, u: Tensor) -> Tensor:
        return u.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class LeTF(nn.Module):
    """G (B, D, N) of states (B, D) and times (B,), locally equivariant.

    Args:
        length: D.
        n_states: N.
        hidden: width h.
        heads: attention heads; they divide ``hidden``.
        layers: blocks per direction.
        readout_scale: see :class:`HollowReadout`.

    Raises:
        ValueError: the heads do not divide the width.
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 64,
        heads: int = 4,
        layers: int = 3,
        readout_scale: float = 1.0,
    ) -> None:
        super().__init__()
        if hidden % heads:
            raise ValueError(f"{heads} heads do not divide the width {hidden}")
        self.tokens = nn.Embedding(n_states, hidden)
        self.time = TimeEmbedding(hidden)
        self.blocks = nn.ModuleList(PairedBlock(hidden, heads, length + 1) for _ in range(layers))
        self.attention = StreamAttention(hidden, heads, length)
        self.norm = nn.LayerNorm(hidden)
        self.readout = HollowReadout(n_states, hidden, readout_scale)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        x = x.long()
        backwards = torch.arange(x.shape[-1] - 1, -1, -1, device=x.device).expand_as(x)
        return self._flux(x, t, backwards, None, visible(x.shape[-1], x.device))

    def _flux(
        self, x: Tensor, t: Tensor, backwards: Tensor, bias: Tensor | None, mask: Tensor
    ) -> Tensor:
        """``backwards`` (B, D): the order of the second stream, an involution."""
        clock = self.time(t)[:, None]
        order = backwards[..., None]
        forward = self.tokens(x)
        reverse = forward.gather(1, order.expand_as(forward))
        start = clock.to(forward.dtype).expand(2, -1, -1, -1)
        streams = torch.cat((start, torch.stack((forward, reverse))), 2)
        for block in self.blocks:
            streams = block(streams, bias)
        first, second = streams[:, :, :-1]
        second = second.gather(1, order.expand_as(second))
        hollow = self.attention(torch.stack((first, second)), clock, mask)
        return self.readout(x, self.norm(hollow) + clock)


def visible(length: int, device: torch.device | str | None = None) -> Tensor:
    """Boolean (D, 2 D): site i sees f_j for j <= i and b_j for j >= i."""
    causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return torch.cat((causal, causal.T), 1)
