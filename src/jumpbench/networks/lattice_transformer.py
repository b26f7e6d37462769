"""Transformers on a square lattice with 2-D rotary attention: controller, corrector (DASBS, C.2).

One token per site. Both return the LOGARITHM of the ratios they stand for, shape (B, D, N) with
D = size^2; the entry at a site's current symbol means nothing and must be masked by the caller.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.networks.embeddings import lattice_position_table, sinusoidal_features
from jumpbench.ops.fused import gated_sum, modulated_norm, pays, rotated_heads
from jumpbench.ops.narrow_attention import attention


class MixedRotary(nn.Module):
    """Learnable 2-D rotary frequencies: the site (i, j) turns pair p of head m by j fx + i fy.

    Magnitudes start at theta^(-(0, 4, ...)/dh), each used twice: along a direction drawn per head
    and along its normal. Channels (0,1), (2,3), ... form the pairs. (Heo et al. 2025, "mixed".)
    """

    row: Tensor
    column: Tensor

    def __init__(self, size: int, heads: int, head_dim: int, theta: float = 10.0) -> None:
        super().__init__()
        if head_dim % 4:
            raise ValueError(
                f"2-D rotary attention needs head size {head_dim} to be a multiple of 4"
            )
        magnitude = theta ** -(torch.arange(0, head_dim, 4).float() / head_dim)
        turn = 2 * math.pi * torch.rand(heads, 1)
        directions = torch.cat([turn, turn + math.pi / 2], dim=1).unsqueeze(-1)
        x, y = ((f(directions) * magnitude).flatten(1) for f in (torch.cos, torch.sin))
        self.frequencies = nn.Parameter(torch.stack([x, y]))
        sites = torch.arange(size * size)
        self.register_buffer("row", (sites // size).float(), persistent=False)
        self.register_buffer("column", (sites % size).float(), persistent=False)

    def angles(self) -> Tensor:
        """(heads, D, head_dim/2), float32."""
        fx, fy = self.frequencies.float().unsqueeze(2)
        return self.column[:, None] * fx + self.row[:, None] * fy

    @staticmethod
    def turn(z: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotates the channel pairs of z (B, heads, D, head_dim), in float32."""
        a, b = z.float().unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        # Under autocast a product with angles in bf16 would lose whole turns on a large lattice.
        with torch.autocast(q.device.type, enabled=False):
            angles = self.angles()
            cos, sin = angles.cos(), angles.sin()
            return self.turn(q, cos, sin).to(q.dtype), self.turn(k, cos, sin).to(k.dtype)


class RotaryAttention(nn.Module):
    def __init__(self, size: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.rotary = MixedRotary(size, heads, hidden // heads)

    def forward(self, z: Tensor) -> Tensor:
        qkv = self.qkv(z)
        if pays(qkv):
            q, k, v = rotated_heads(qkv, self.rotary.angles().to(qkv.dtype))
        else:
            q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            q, k = self.rotary(q, k)
        return self.projection(attention(q, k, v).transpose(1, 2).flatten(2))


def lattice_size(length: int) -> int:
    """Side of the square lattice with ``length`` sites.

    Raises:
        ValueError: ``length`` is no square.
    """
    size = math.isqrt(length)
    if size * size != length:
        raise ValueError(
            f"a lattice transformer needs a square number of sites, not {length}; a "
            "StatePerceptron takes any number"
        )
    return size


def perceptron(hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))


def modulated(norm: nn.LayerNorm, z: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """norm(z) (1 + scale) + shift; z (B, D, h), shift and scale (B, 1, h)."""
    if not pays(z):
        return norm(z) * (1 + scale) + shift
    scale = 1 + scale
    if norm.weight is not None:
        # Two small products here save two passes over all tokens.
        scale, shift = norm.weight * scale, norm.bias * scale + shift
    return modulated_norm(z, scale, shift, norm.eps)


def gated(z: Tensor, gate: Tensor, branch: Tensor) -> Tensor:
    return gated_sum(z, gate, branch) if pays(z) else z + gate * branch


class TimeBlock(nn.Module):
    """Pre-norm block whose two branches are shifted, scaled and gated by the time (adaLN)."""

    def __init__(self, size: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden, eps=1e-6)
        self.attention = RotaryAttention(size, hidden, heads)
        self.norm2 = nn.LayerNorm(hidden, eps=1e-6)
        self.mlp = perceptron(hidden)
        self.modulation = nn.Linear(hidden, 6 * hidden)

    def forward(self, z: Tensor, time: Tensor) -> Tensor:
        shift1, scale1, gate1, shift2, scale2, gate2 = (
            self.modulation(F.silu(time)).unsqueeze(1).chunk(6, dim=-1)
        )
        z = gated(z, gate1, self.attention(modulated(self.norm1, z, shift1, scale1)))
        return gated(z, gate2, self.mlp(modulated(self.norm2, z, shift2, scale2)))


class ScaledBlock(nn.Module):
    """Pre-norm block without time; every branch has a learnable scale that starts at 1e-4."""

    def __init__(self, size: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden, eps=1e-6)
        self.attention = RotaryAttention(size, hidden, heads)
        self.scale1 = nn.Parameter(torch.full((hidden,), 1e-4))
        self.norm2 = nn.LayerNorm(hidden, eps=1e-6)
        self.mlp = perceptron(hidden)
        self.scale2 = nn.Parameter(torch.full((hidden,), 1e-4))

    def forward(self, z: Tensor) -> Tensor:
        z = gated(z, self.scale1, self.attention(self.norm1(z)))
        return gated(z, self.scale2, self.mlp(self.norm2(z)))


class LatticeEmbedding(nn.Module):
    """Symbol embedding plus a learnable position table: (B, D) integers -> (B, D, hidden)."""

    def __init__(self, size: int, n_symbols: int, hidden: int) -> None:
        super().__init__()
        self.symbol = nn.Embedding(n_symbols, hidden)
        nn.init.uniform_(self.symbol.weight, -(hidden**-0.5), hidden**-0.5)
        self.position = nn.Parameter(lattice_position_table(size, size, hidden))

    def forward(self, x: Tensor) -> Tensor:
        return self.symbol(x) + self.position


class LatticeController(nn.Module):
    """log Phi_t(x), the log-ratios of the control at every (site, symbol).

    Args:
        length: number of sites D, a square. n_states: number of symbols N.
        hidden: width h. heads: attention heads (h/heads a multiple of 4). blocks: depth.

    ``forward(x, t)``: x (B, D) integers, t (B,) in [0, 1] -> (B, D, N) float32.
    """

    TIME_FEATURES = 256

    def __init__(
        self, length: int, n_states: int, hidden: int = 32, heads: int = 4, blocks: int = 6
    ) -> None:
        super().__init__()
        size = lattice_size(length)
        self.embedding = LatticeEmbedding(size, n_states, hidden)
        self.time = nn.Sequential(
            nn.Linear(self.TIME_FEATURES, hidden), nn.SiLU(), nn.Linear(hidden, hidden)
        )
        self.blocks = nn.ModuleList(TimeBlock(size, hidden, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(hidden, eps=1e-6, elementwise_affine=False)
        self.modulation = nn.Linear(hidden, 2 * hidden)
        self.head = nn.Linear(hidden, n_states)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = self.time(sinusoidal_features(1000 * t, self.TIME_FEATURES))
        z = self.embedding(x)
        for block in self.blocks:
            z = block(z, time)
        shift, scale = self.modulation(F.silu(time)).unsqueeze(1).chunk(2, dim=-1)
        return self.head(modulated(self.norm, z, shift, scale)).float()


class LatticeCorrector(nn.Module):
    """log Phihat(x), a time-free table over (site, symbol); also a masked model's logits.

    ``n_inputs`` symbols can be read (one more than ``n_states`` where there is a mask symbol).
    ``forward(x)``: x (B, D) integers -> (B, D, N) float32.
    """

    def __init__(
        self,
        length: int,
        n_states: int,
        hidden: int = 32,
        heads: int = 4,
        blocks: int = 6,
        n_inputs: int | None = None,
    ) -> None:
        super().__init__()
        size = lattice_size(length)
        self.embedding = LatticeEmbedding(size, n_inputs or n_states, hidden)
        self.blocks = nn.ModuleList(ScaledBlock(size, hidden, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(hidden, eps=1e-6, elementwise_affine=False)
        self.head = nn.Linear(hidden, n_states)

    def forward(self, x: Tensor) -> Tensor:
        z = self.embedding(x)
        for block in self.blocks:
            z = block(z)
        return self.head(self.norm(z)).float()
