"""NCSN++ (Song et al. 2021) as Blackout uses it: BigGAN blocks, FIR resampling, residual pyramid.

The size is in the arguments: the published network has 62.7 million parameters, the small U-Nets of
the miniatures are the same class with fewer channels and levels.
"""

import math
from collections.abc import Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.errors import UserError
from jumpbench.networks.fir import PyramidDown, blur_down, blur_up

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)


def scaled(layer: Layer, scale: float = 1.0) -> Layer:
    """Variance scaling, fan-avg uniform: U(-a, a), a = sqrt(6 scale / (fan_in + fan_out)).

    Biases start at 0. Scale 1e-10 makes a layer that starts as good as silent.
    """
    weight = layer.weight
    window = weight[0, 0].numel() if weight.ndim > 2 else 1
    fans = (weight.shape[0] + weight.shape[1]) * window
    nn.init.uniform_(weight, -math.sqrt(6 * scale / fans), math.sqrt(6 * scale / fans))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def conv(inputs: int, outputs: int, size: int = 3, scale: float = 1.0) -> nn.Module:
    return scaled(nn.Conv2d(inputs, outputs, size, padding=size // 2), scale)


def norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(min(channels // 4, 32), channels, eps=1e-6)


def time_features(index: Tensor, dim: int) -> Tensor:
    """sin then cos of index * exp(-i ln(10000) / (dim/2 - 1)), i = 0 .. dim/2 - 1; float32."""
    half = dim // 2
    steps = torch.arange(half, device=index.device, dtype=torch.float32)
    angles = index.float().unsqueeze(-1) * torch.exp(-steps * math.log(10_000.0) / (half - 1))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResidualBlock(nn.Module):
    """GN, swish, resample, conv, time bias, GN, swish, dropout, conv; (shortcut + h) / sqrt 2.

    Args:
        resample: +1 to double the size, -1 to halve it, 0 to keep it.
    """

    def __init__(
        self, inputs: int, outputs: int, time: int, dropout: float, resample: int = 0
    ) -> None:
        super().__init__()
        self.norm1, self.conv1 = norm(inputs), conv(inputs, outputs)
        self.time = scaled(nn.Linear(time, outputs))
        self.norm2, self.conv2 = norm(outputs), conv(outputs, outputs, scale=1e-10)
        self.dropout = nn.Dropout(dropout)
        self.resample = resample
        straight = inputs == outputs and not resample
        self.shortcut = nn.Identity() if straight else conv(inputs, outputs, 1)

    def forward(self, x: Tensor, temb: Tensor) -> Tensor:
        h = F.silu(self.norm1(x))
        if self.resample:
            change = blur_up if self.resample > 0 else blur_down
            h, x = change(h), change(x)
        h = self.conv1(h) + self.time(temb)[:, :, None, None]
        h = self.conv2(self.dropout(F.silu(self.norm2(h))))
        return (self.shortcut(x) + h) * 0.5**0.5


class PixelAttention(nn.Module):
    """Single-head self-attention over the pixels of a feature map; (x + h) / sqrt 2."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = norm(channels)
        self.query, self.key, self.value = (conv(channels, channels, 1, 0.1) for _ in range(3))
        self.out = conv(channels, channels, 1, 1e-10)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        q, k, v = (
            layer(h).flatten(2).transpose(1, 2).unsqueeze(1)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v).squeeze(1).transpose(1, 2)
        return (x + self.out(mixed.reshape(x.shape))) * 0.5**0.5


class NCSNpp(nn.Module):
    """Raw outputs (B, C, H, W) for inputs (B, C, H, W) at observation indices (B,), 0-based.

    Args:
        channels: C.
        size: H = W, divisible by 2^(levels - 1).
        width: channels of the first level.
        multipliers: channels of every level, in units of ``width``.
        blocks: residual blocks of a level.
        attention: sizes of feature maps with self-attention after every block (the bottleneck
            always has one).
        dropout: of every residual block.
        channels_last: memory layout; faster on GPUs in bfloat16.

    Raises:
        UserError: a size that cannot be halved often enough.
    """

    def __init__(
        self,
        channels: int = 3,
        size: int = 32,
        width: int = 128,
        multipliers: Sequence[int] = (1, 2, 2, 2),
        blocks: int = 4,
        attention: Sequence[int] = (16,),
        dropout: float = 0.1,
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        levels = len(multipliers)
        if size % 2 ** (levels - 1):
            raise UserError(
                f"size={size} cannot be halved {levels - 1} times: give fewer multipliers"
            )
        self.size, self.width, self.attention = size, width, tuple(attention)
        time = 4 * width
        self.time1, self.time2 = scaled(nn.Linear(width, time)), scaled(nn.Linear(time, time))

        def block(inputs: int, outputs: int, resample: int = 0) -> ResidualBlock:
            return ResidualBlock(inputs, outputs, time, dropout, resample)

        self.first = conv(channels, width)
        widths = [width * m for m in multipliers]
        skips, current, pyramid = [width], width, channels
        self.down, self.shrink, self.pyramid = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for level, wide in enumerate(widths):
            self.down.append(nn.ModuleList())
            for _ in range(blocks):
                cast(nn.ModuleList, self.down[-1]).append(
                    self._with_attention(block(current, wide), wide, level)
                )
                current = wide
                skips.append(current)
            if level < levels - 1:
                self.shrink.append(block(current, current, -1))
                self.pyramid.append(PyramidDown(scaled(nn.Conv2d(pyramid, current, 3, stride=2))))
                pyramid = current
                skips.append(current)
        self.middle = nn.ModuleList(
            [block(current, current), PixelAttention(current), block(current, current)]
        )
        self.up, self.grow, self.up_attention = (
            nn.ModuleList(), nn.ModuleList(), nn.ModuleDict(),
        )  # fmt: skip
        for level in reversed(range(levels)):
            self.up.append(nn.ModuleList())
            for _ in range(blocks + 1):
                cast(nn.ModuleList, self.up[-1]).append(block(current + skips.pop(), widths[level]))
                current = widths[level]
            if size >> level in self.attention:
                self.up_attention[str(level)] = PixelAttention(current)
            if level:
                self.grow.append(block(current, current, 1))
        self.last_norm, self.last = norm(current), conv(current, channels, scale=1e-10)
        self._layout = torch.channels_last if channels_last else torch.contiguous_format
        if channels_last:
            self.to(memory_format=torch.channels_last)

    def _with_attention(self, block: ResidualBlock, channels: int, level: int) -> nn.ModuleList:
        here = self.size >> level in self.attention
        return nn.ModuleList([block, PixelAttention(channels)] if here else [block])

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        x = x.contiguous(memory_format=self._layout)
        temb = self.time2(F.silu(self.time1(time_features(index, self.width))))
        temb = F.silu(temb)
        pyramid = x
        h = self.first(x)
        skips = [h]
        for level, blocks in enumerate(self.down):
            for parts in cast(nn.ModuleList, blocks):
                block, *attention = cast(nn.ModuleList, parts)
                h = block(h, temb)
                for attend in attention:
                    h = attend(h)
                skips.append(h)
            if level < len(self.shrink):
                h = self.shrink[level](h, temb)
                pyramid = h = (self.pyramid[level](pyramid) + h) * 0.5**0.5
                skips.append(h)
        h = self.middle[0](h, temb)
        h = self.middle[2](self.middle[1](h), temb)
        for place, blocks in enumerate(self.up):
            level = len(self.up) - 1 - place
            for block in cast(nn.ModuleList, blocks):
                h = block(torch.cat([h, skips.pop()], dim=1), temb)
            if str(level) in self.up_attention:
                h = self.up_attention[str(level)](h)
            if level:
                h = self.grow[place](h, temb)
        # Outputs reach 255, where bfloat16 knows every second integer only: the last layer is as
        # precise as its weights, whatever the layers before it are cast to.
        with torch.autocast(x.device.type, enabled=False):
            return self.last(F.silu(self.last_norm(h.to(self.last.weight.dtype))))
