"""A small convolutional network that reads noised images of few symbols."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.networks.embeddings import sinusoidal_features


class ScoreConvolution(nn.Module):
    """Outputs (B, D, N) for square images (B, D) of N symbols at noise (B,): a two-level U-net.

    Residual blocks of two 3x3 convolutions with group norm, scaled and shifted by features of
    log(noise); one level at half and one at a quarter of the size. The last layer starts at 0.

    Args:
        n_states: symbols N.
        size: side of the image, a multiple of 4; D = size^2.
        channels: at full size.
        half: channels at half of the size, by default ``2 * channels``.
        quarter: channels at a quarter of the size, by default the same.
        depth: blocks at a quarter of the size, where parameters cost least.
    """

    def __init__(
        self,
        n_states: int,
        size: int,
        channels: int = 32,
        condition: int = 128,
        half: int | None = None,
        quarter: int | None = None,
        depth: int = 1,
    ) -> None:
        super().__init__()
        if size % 4:
            raise ValueError(f"size is {size}; the two levels below need a multiple of 4")
        self.n_states, self.size = n_states, size
        half, quarter = half or 2 * channels, quarter or 2 * channels
        self.condition = nn.Sequential(
            nn.Linear(128, condition), nn.SiLU(), nn.Linear(condition, condition), nn.SiLU()
        )
        # Ones mark the inside of the image: near the border convolutions see padding zeros.
        self.inward = nn.Conv2d(n_states + 1, channels, 3, padding=1)
        self.down = nn.ModuleList(
            [
                ImageBlock(channels, channels, condition),
                ImageBlock(channels, half, condition),
                ImageBlock(half, quarter, condition),
            ]
        )
        self.low = nn.ModuleList(ImageBlock(quarter, quarter, condition) for _ in range(depth - 1))
        self.up = nn.ModuleList(
            [
                ImageBlock(quarter + half, half, condition),
                ImageBlock(half + channels, channels, condition),
            ]
        )
        self.head = nn.Conv2d(channels, n_states, 3, padding=1)
        for parameter in self.head.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        if x.shape[-1] != self.size**2:
            raise ValueError(f"{x.shape[-1]} sites are not an image of side {self.size}")
        condition = self.condition(sinusoidal_features(100 * noise.clamp(min=1e-6).log(), 128))
        image = F.one_hot(x.view(-1, self.size, self.size), self.n_states).movedim(-1, 1)
        image = F.pad(image.to(self.head.weight.dtype), (0, 0, 0, 0, 0, 1), value=1.0)
        full = self.down[0](self.inward(image), condition)
        half = self.down[1](F.avg_pool2d(full, 2), condition)
        low = self.down[2](F.avg_pool2d(half, 2), condition)
        for block in self.low:
            low = block(low, condition)
        half = self.up[0](torch.cat([F.interpolate(low, scale_factor=2), half], 1), condition)
        full = self.up[1](torch.cat([F.interpolate(half, scale_factor=2), full], 1), condition)
        return self.head(F.silu(full)).flatten(2).transpose(1, 2)


class ImageBlock(nn.Module):
    """x + convolutions of it, the middle scaled and shifted by the condition."""

    def __init__(self, inside: int, outside: int, condition: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, padding=1)
        self.second = nn.Conv2d(outside, outside, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(8, inside), nn.GroupNorm(8, outside)])
        self.modulation = nn.Linear(condition, 2 * outside)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.modulation(condition)[:, :, None, None].chunk(2, 1)
        middle = self.norms[1](self.first(F.silu(self.norms[0](x))))
        return self.skip(x) + self.second(F.silu(middle * (1 + scale) + shift))
