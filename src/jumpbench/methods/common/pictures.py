"""Many small pictures as one."""

import torch
from torch import Tensor


def white(images: Tensor) -> int:
    """M of counts that are bytes or bits: 255 if any is above 1. Dark pictures stay dark."""
    return 255 if int(images.max()) > 1 else 1


def tiled(images: Tensor, columns: int, border: int = 1, maximum: int | None = None) -> Tensor:
    """Images (N, C, H, W) as one picture (H', W', 3) in 0..1, row by row.

    White is ``maximum``, by default the largest value of them all.
    """
    images = images.float() / (maximum or max(int(images.max()), 1))
    images = images.expand(-1, 3, -1, -1)
    n, _, height, width = images.shape
    rows = -(-n // columns)
    page = torch.full((rows * columns, 3, height + border, width + border), 0.5)
    page[:n, :, :height, :width] = images
    page = page.view(rows, columns, 3, height + border, width + border)
    return page.permute(0, 3, 1, 4, 2).reshape(rows * (height + border), -1, 3)
