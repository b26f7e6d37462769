"""MNIST digits as sequences of bits."""

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.data.mnist import generated_digits, load_mnist
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import UserError

SIDES = (16, 28, 32)


def binarised(images: Tensor, side: int) -> Tensor:
    """Bits (n, side^2), uint8, of images (n, 28, 28), uint8.

    28: 1 where a pixel is at least 128. 32: the same with two rows and columns of 0 on every side
    (SGDD). 16: of these, the mean of every 2 x 2 block at least 1/2 of the way from 0 to 255.
    """
    if side not in SIDES:
        raise UserError(f"images have side {' or '.join(map(str, SIDES))}, not {side}")
    if side == 28:
        return (images >= 128).flatten(1).to(torch.uint8)
    padded = F.pad(images, (2, 2, 2, 2))
    if side == 16:
        blocks = padded.view(-1, 16, 2, 16, 2).long().sum((2, 4))
        return (blocks >= 4 * 128).flatten(1).to(torch.uint8)
    return (padded >= 128).flatten(1).to(torch.uint8)


class BinaryMnist(TokenData):
    """Binary digits of ``side`` x ``side`` pixels, row by row, with ``labels``.

    Args:
        side: 16, 28 or 32 (see :func:`binarised`).
        generated: use that many generated digits per split instead of MNIST (smoke runs).
        root: data root.
        sizes: see :class:`~jumpbench.data.tokens.TokenData`.
    """

    n_states = 2

    def __init__(
        self, side: int, generated: int | None = None, root: str | Path | None = None, **sizes: int
    ) -> None:
        super().__init__(**sizes)
        if side not in SIDES:
            raise UserError(f"images have side {' or '.join(map(str, SIDES))}, not {side}")
        self.side, self.generated, self.root = side, generated, root
        self.length = side**2

    def load(self, split: str) -> Batch:
        train = split == "train"
        if self.generated:
            images, labels = generated_digits(self.generated, seed=0 if train else 1)
        else:
            images, labels = load_mnist(train, self.root)
        return {"states": binarised(images, self.side), "labels": labels.long()}
