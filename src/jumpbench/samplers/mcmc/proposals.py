"""Uniform proposals at single sites, a block of steps at once."""

import torch
from torch import Tensor

Proposals = list[tuple[Tensor, Tensor, Tensor, Tensor]]
"""Of every step of a block: sites, tokens, places in the flattened states, log uniforms; (B,)."""


def by_step(*drawn: Tensor) -> Proposals:
    """Views of (K, B) tensors, step by step."""
    return list(zip(*(part.unbind(0) for part in drawn), strict=True))


def draw_proposals(
    sites: Tensor,
    tokens: Tensor,
    uniforms: Tensor,
    bits: Tensor,
    length: int,
    n_states: int,
    generator: torch.Generator | None,
) -> None:
    """Fill the first three with uniform sites, tokens and numbers in (0, 1], from 63 bits each.

    Random bits are half of a step's cost. 24 of them make a float32 uniform, never 0: that would
    accept a move of any probability above 0. The other 39, read as a fraction, give the token as
    the integer part of N times it, and what is left of the fraction gives the site in the same
    way: uniform to within N D / 2^39.
    """
    if max(length, n_states) > 2**24:
        raise ValueError(f"length {length}, n_states {n_states}: at most 2^24 are supported")
    bits.random_(generator=generator)
    uniforms.copy_(torch.bitwise_and(bits, 2**24 - 1, out=sites)).add_(1).mul_(2.0**-24)
    bits.bitwise_right_shift_(24).mul_(n_states)
    tokens.copy_(torch.bitwise_right_shift(bits, 39, out=sites))
    bits.bitwise_and_(2**39 - 1).mul_(length)
    torch.bitwise_right_shift(bits, 39, out=sites)
