"""Sines and cosines: features of a scalar (time, rate, slot index) and of a lattice position."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Layout = Callable[[Tensor], Tensor]

TIME_FEATURES = 256


def cos_sin(angles: Tensor) -> Tensor:
    """All cosines, then all sines: (..., k) -> (..., 2k)."""
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def sin_cos(angles: Tensor) -> Tensor:
    """All sines, then all cosines: (..., k) -> (..., 2k)."""
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def interleaved_sin_cos(angles: Tensor) -> Tensor:
    """Channel 2c holds the sine and 2c+1 the cosine of angle c: (..., k) -> (..., 2k)."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def sinusoidal_features(
    t: Tensor, dim: int, layout: Layout = cos_sin, max_period: float = 10_000.0
) -> Tensor:
    """Features of t at the frequencies w_k = max_period^(-k / (dim/2)), k = 0..dim/2-1.

    Args:
        t: any shape (...), any dtype; not rescaled.
        dim: number of features, even.
        layout: order of sines and cosines, one of the functions above or the caller's own.

    Returns:
        (..., dim), float32 also under autocast (float64 for a float64 ``t``).

    Raises:
        ValueError: ``dim`` is odd.
    """
    if dim % 2:
        raise ValueError(f"sinusoidal features come in pairs: dim={dim} must be even")
    t = t if t.dtype == torch.float64 else t.float()
    exponent = torch.arange(dim // 2, device=t.device, dtype=t.dtype) / (dim // 2)
    return layout(t.unsqueeze(-1) * max_period**-exponent)


class TimeEmbedding(nn.Sequential):
    """t (M,) -> (M, d): 256 cosines and sines of the time itself, linear - SiLU - linear."""

    def __init__(self, dim: int) -> None:
        super().__init__(nn.Linear(TIME_FEATURES, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t: Tensor) -> Tensor:
        return super().forward(sinusoidal_features(t, TIME_FEATURES, cos_sin))


def embedded(layer: nn.Embedding, x: Tensor) -> Tensor:
    """Vectors (..., D, dim) of symbols (..., D), or mixtures of them by weights (..., D, N).

    One-hot weights give what their symbols give, with a gradient.
    """
    return x.to(layer.weight.dtype) @ layer.weight if x.is_floating_point() else layer(x)


def lattice_position_table(height: int, width: int, dim: int) -> Tensor:
    """2-D sine-cosine table (height*width, dim), row-major sites.

    The first dim/2 channels come from the column index, the last dim/2 from the row index, each
    as [sin(p w_k), cos(p w_k)] with w_k = 10000^(-k/(dim/4)) (DASBS, appendix C.2).

    Raises:
        ValueError: ``dim`` is not a multiple of 4.
    """
    if dim % 4:
        raise ValueError(f"two sine-cosine halves need dim={dim} to be a multiple of 4")
    row, column = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    halves = [sinusoidal_features(p.flatten(), dim // 2, sin_cos) for p in (column, row)]
    return torch.cat(halves, dim=-1)
