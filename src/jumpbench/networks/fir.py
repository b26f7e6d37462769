"""Resampling of feature maps with the FIR filter (1, 3, 3, 1) / 8, zero padding (StyleGAN 2)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def _filter(x: Tensor, gain: float = 1.0) -> Tensor:
    """Depthwise 4 x 4 filter (C, 1, 4, 4): the outer product of the taps, times ``gain``."""
    # (1, 3, 3, 1) / 8, made where it is used: a list would be copied there, and waited for.
    taps = 0.5 - 0.25 * (torch.arange(4, device=x.device, dtype=x.dtype) - 1.5).abs()
    return (gain * taps.outer(taps)).expand(x.shape[1], 1, 4, 4)


def _filtered(
    convolve: Callable[..., Tensor], x: Tensor, padding: int, stride: int = 1, gain: float = 1.0
) -> Tensor:
    """``convolve`` with the filter; in float32 under a CPU's autocast.

    In bfloat16 a CPU needs at least four times as long for depthwise convolutions with a stride.
    """
    if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        with torch.autocast("cpu", enabled=False):
            return _filtered(convolve, x.float(), padding, stride, gain).to(x.dtype)
    return convolve(x, _filter(x, gain), stride=stride, padding=padding, groups=x.shape[1])


def blur_down(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C, H/2, W/2): blur with padding 1, keep every second pixel."""
    return _filtered(F.conv2d, x, padding=1, stride=2)


def blur_up(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C, 2H, 2W): zeros between the pixels, pad 2 before and 1 after, blur."""
    # The filter is symmetric, so the transposed convolution is this blur; padding 1 crops it.
    return _filtered(F.conv_transpose2d, x, padding=1, stride=2, gain=4.0)


class PyramidDown(nn.Module):
    """Blur with padding 2 (size H + 1), then a given 3 x 3 convolution of stride 2: size H / 2."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: Tensor) -> Tensor:
        return self.convolution(_filtered(F.conv2d, x, padding=2))
