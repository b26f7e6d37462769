"""An autoencoder whose latent image is one of N code vectors at every place (VQ)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class VqAutoencoder(nn.Module):
    """Images (B, C, H, W) in [-1, 1] <-> codes (B, D), D = (H / 2^(L-1))^2, one of N symbols each.

    A convolutional encoder and decoder with L levels of residual blocks, attention at the lowest,
    and the nearest of N vectors in between. With widths (128, 128, 256, 512), 256 codes of
    dimension 4 and two blocks a level it has the shape of SGDD's f8-n256 model.

    Args:
        channels: C.
        widths: channels of the levels, from full size down.
        codes: number N of the code vectors.
        dimension: their length.
        blocks: residual blocks per level.
    """

    codebook: nn.Parameter

    def __init__(
        self,
        channels: int = 3,
        widths: Sequence[int] = (128, 128, 256, 512),
        codes: int = 256,
        dimension: int = 4,
        blocks: int = 2,
    ) -> None:
        super().__init__()
        widths = list(widths)
        self.codes = codes
        down: list[nn.Module] = [nn.Conv2d(channels, widths[0], 3, padding=1)]
        for level, width in enumerate(widths):
            inside = widths[max(level - 1, 0)]
            down += [Residual(inside if b == 0 else width, width) for b in range(blocks)]
            if level + 1 < len(widths):
                down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
        lowest = widths[-1]
        self.encoder = nn.Sequential(
            *down, Residual(lowest, lowest), PlaceAttention(lowest), Residual(lowest, lowest),
            *_out(lowest, dimension),
        )  # fmt: skip
        up: list[nn.Module] = [
            nn.Conv2d(dimension, lowest, 3, padding=1), Residual(lowest, lowest),
            PlaceAttention(lowest), Residual(lowest, lowest),
        ]  # fmt: skip
        for level in reversed(range(len(widths))):
            width = widths[level]
            inside = widths[min(level + 1, len(widths) - 1)]
            up += [Residual(inside if b == 0 else width, width) for b in range(blocks)]
            if level:
                up += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)]
        self.decoder = nn.Sequential(*up, *_out(widths[0], channels))
        self.codebook = nn.Parameter(torch.randn(codes, dimension))

    def latent(self, images: Tensor) -> Tensor:
        """Encoder outputs (B, h, w, dimension), before the nearest code is taken."""
        return self.encoder(images).movedim(1, -1)

    def nearest(self, latent: Tensor) -> Tensor:
        """Codes (B, h, w), ``long``, of the code vectors nearest to latents."""
        flat = latent.reshape(-1, latent.shape[-1])
        distance = self.codebook.square().sum(1) - 2 * flat @ self.codebook.T
        return distance.argmin(1).view(latent.shape[:-1])

    @torch.no_grad()
    def encode(self, images: Tensor) -> Tensor:
        """Codes (B, D) of images, row by row."""
        return self.nearest(self.latent(images)).flatten(1)

    def decode(self, codes: Tensor) -> Tensor:
        """Images (B, C, H, W) of codes (B, D); they may leave [-1, 1] a little."""
        side = round(codes.shape[1] ** 0.5)
        vectors = self.codebook[codes.view(-1, side, side)]
        return self.decoder(vectors.movedim(-1, 1))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Reconstructions with gradients straight through the codes, the two distances of VQ-VAE
        (codes to latents, latents to codes; means of squares), and the latents (B, h, w, d)."""
        latent = self.latent(images)
        vectors = self.codebook[self.nearest(latent)]
        to_latent = (vectors - latent.detach()).square().mean()
        to_code = (latent - vectors.detach()).square().mean()
        straight = latent + (vectors - latent).detach()
        return self.decoder(straight.movedim(-1, 1)), to_latent, to_code, latent


class Residual(nn.Module):
    """x + two 3x3 convolutions of it, each after group norm and SiLU."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([_norm(inside), _norm(outside)])
        self.first = nn.Conv2d(inside, outside, 3, padding=1)
        self.second = nn.Conv2d(outside, outside, 3, padding=1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        middle = self.first(F.silu(self.norms[0](x)))
        return self.skip(x) + self.second(F.silu(self.norms[1](middle)))


class PlaceAttention(nn.Module):
    """x + attention over all places, one head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = _norm(width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, -1)
        seen = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(seen.transpose(1, 2).view_as(x))


def _norm(width: int) -> nn.GroupNorm:
    return nn.GroupNorm(min(32, width // 4), width)


def _out(width: int, channels: int) -> list[nn.Module]:
    return [_norm(width), nn.SiLU(), nn.Conv2d(width, channels, 3, padding=1)]
