"""Random numbers cut from 64-bit words: the generator is the slow part on a CPU."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor


def random_bits(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Independent fair bits, uint8, eight from every random byte."""
    count = prod(shape)
    words = torch.empty(-(-count // 64), dtype=torch.long, device=generator.device)
    words.random_(-(2**63), None, generator=generator)
    shifts = torch.arange(8, dtype=torch.uint8, device=generator.device).unsqueeze(-1)
    bits = words.view(torch.uint8).bitwise_right_shift(shifts).bitwise_and_(1)
    return bits.flatten()[:count].view(*shape)


def log_exponential(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """log E with E standard exponential, float32: ``-log E`` is a standard Gumbel variable.

    ``E = -log(1 - u)`` with u of 31 random bits that keeps its relative precision near 0, where
    the large Gumbel values are; two numbers are cut from one 64-bit draw, the generator being the
    slow part on CPU.
    """
    count = prod(shape)
    bits = torch.empty((count + 1) // 2, dtype=torch.long, device=generator.device)
    bits.random_(-(2**63), None, generator=generator)
    bits = bits.view(torch.int32)[:count].view(*shape).bitwise_and_(2**31 - 1)
    minus_u = bits.float().add_(0.5).mul_(-(2.0**-31))
    return minus_u.log1p_().neg_().log_()
