"""Resampling of feature maps with the FIR filter (1, 3, 3, 1) / 8, zero padding (StyleGAN 2)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TAPS = (0.125, 0.375, 0.375, 0.125)


def _filter(x: Tensor, gain: float = 1.0) -> Tensor:
    """Depthwise 4 x 4 filter (C, 1, 4, 4): the outer product of the taps, times ``gain``."""
    taps = torch.tensor(TAPS, device=x.device, dtype=x.dtype)
    return (gain * taps.outer(taps)).expand(x.shape[1], 1, 4, 4)


def blur_down(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C, H/2, W/2): blur with padding 1, keep every second pixel."""
    return F.conv2d(x, _filter(x), stride=2, padding=1, groups=x.shape[1])


def blur_up(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C, 2H, 2W): zeros between the pixels, pad 2 before and 1 after, blur."""
    # The filter is symmetric, so the transposed convolution is this blur; padding 1 crops it.
    return F.conv_transpose2d(x, _filter(x, 4.0), stride=2, padding=1, groups=x.shape[1])


class PyramidDown(nn.Module):
    """Blur with padding 2 (size H + 1), then a given 3 x 3 convolution of stride 2: size H / 2."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: Tensor) -> Tensor:
        blurred = F.conv2d(x, _filter(x), padding=2, groups=x.shape[1])
        return self.convolution(blurred)
