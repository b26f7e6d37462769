"""Uniform random numbers that are never 0."""

import torch
from torch import Tensor


def fill_uniform_(u: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """``u`` filled with uniform numbers in the open interval (0, 1).

    At 0, which ``torch.rand`` returns once in 2^24 numbers, a move of any probability above 0
    would be made: the ends lie half a step (of float32, or of the dtype) further in.
    """
    eps = torch.finfo(u.dtype).eps
    return u.uniform_(eps / 4, 1 - eps / 2, generator=generator)
