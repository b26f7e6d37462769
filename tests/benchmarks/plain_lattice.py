"""The lattice transformers as in a textbook: same parameters, one torch operation per symbol."""

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.networks.embeddings import sinusoidal_features
from jumpbench.networks.lattice_transformer import (
    LatticeController,
    LatticeCorrector,
    RotaryAttention,
)


def turned(z: Tensor, angles: Tensor) -> Tensor:
    a, b = z.float()[..., 0::2], z.float()[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2).to(z.dtype)


def attention(layer: RotaryAttention, z: Tensor) -> Tensor:
    q, k, v = (
        part.unflatten(-1, (layer.heads, -1)).transpose(1, 2) for part in layer.qkv(z).chunk(3, -1)
    )
    with torch.autocast(z.device.type, enabled=False):
        angles = layer.rotary.angles()
        q, k = turned(q, angles), turned(k, angles)
    return layer.projection(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def perceptron(layer: torch.nn.Sequential, z: Tensor) -> Tensor:
    return layer[2](F.gelu(layer[0](z)))


class PlainController(LatticeController):
    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = F.silu(self.time(sinusoidal_features(1000 * t, self.TIME_FEATURES)))
        z = self.embedding.symbol(x) + self.embedding.position
        for block in self.blocks:
            a, b, c, d, e, f = block.modulation(time)[:, None].chunk(6, -1)
            z = z + c * attention(block.attention, block.norm1(z) * (1 + b) + a)
            z = z + f * perceptron(block.mlp, block.norm2(z) * (1 + e) + d)
        shift, scale = self.modulation(time)[:, None].chunk(2, -1)
        return self.head(self.norm(z) * (1 + scale) + shift).float()


class PlainCorrector(LatticeCorrector):
    def forward(self, x: Tensor) -> Tensor:
        z = self.embedding.symbol(x) + self.embedding.position
        for block in self.blocks:
            z = z + block.scale1 * attention(block.attention, block.norm1(z))
            z = z + block.scale2 * perceptron(block.mlp, block.norm2(z))
        return self.head(self.norm(z)).float()
