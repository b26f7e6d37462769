"""Layers of two streams with parameters of their own, evaluated in one batched pass.

A tensor of two streams is (2, ..., h); each layer applies its first set of parameters to stream 0
and its second one to stream 1. The values are those of two separate layers.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class PairedLinear(nn.Module):
    """Two linear layers: (2, ..., in) -> (2, ..., out), initialised as ``nn.Linear``."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        bound = in_features**-0.5
        weight = torch.empty(2, in_features, out_features).uniform_(-bound, bound)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.empty(2, 1, out_features).uniform_(-bound, bound))

    def forward(self, u: Tensor) -> Tensor:
        out = torch.baddbmm(self.bias, u.flatten(1, -2), self.weight)
        return out.view(*u.shape[:-1], out.shape[-1])


class PairedLayerNorm(nn.Module):
    """Two layer norms over the last axis of (2, B, T, h)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 1, 1, hidden))
        self.bias = nn.Parameter(torch.zeros(2, 1, 1, hidden))

    def forward(self, u: Tensor) -> Tensor:
        normal = functional.layer_norm(u, u.shape[-1:])
        return torch.addcmul(self.bias, self.weight, normal.to(self.weight.dtype))


class PairedAttention(nn.Module):
    """Causal self-attention of (2, B, T, h), with an optional bias on the logits."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = PairedLinear(hidden, 3 * hidden)
        self.out = PairedLinear(hidden, hidden)

    def forward(self, u: Tensor, bias: Tensor | None = None) -> Tensor:
        """``bias`` (2 B, heads, T, T), -inf above the diagonal; None is plain causal attention."""
        two, batch, length, hidden = u.shape
        split = self.query_key_value(u).view(two * batch, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        if bias is not None:
            bias = bias.to(q.dtype)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, is_causal=bias is None
        )
        return self.out(mixed.transpose(1, 2).reshape(two, batch, length, hidden))


class PairedBlock(nn.Module):
    """u + Block(Linear(u) + positions): pre-norm causal attention, then a perceptron h -> 4h -> h.

    The residual connection around the block is in addition to the two inside it.
    """

    def __init__(self, hidden: int, heads: int, length: int) -> None:
        super().__init__()
        self.enter = PairedLinear(hidden, hidden)
        self.positions = nn.Parameter(torch.randn(2, 1, length, hidden) * 0.01)
        self.attention_norm = PairedLayerNorm(hidden)
        self.attention = PairedAttention(hidden, heads)
        self.perceptron_norm = PairedLayerNorm(hidden)
        self.up = PairedLinear(hidden, 4 * hidden)
        self.down = PairedLinear(4 * hidden, hidden)

    def forward(self, u: Tensor, bias: Tensor | None = None) -> Tensor:
        v = self.enter(u) + self.positions[:, :, : u.shape[2]]
        v = v + self.attention(self.attention_norm(v), bias)
        v = v + self.down(functional.gelu(self.up(self.perceptron_norm(v))))
        return u + v
