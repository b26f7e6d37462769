"""Uniform numbers that lead a leap to stored states, for simulations that draw by inversion."""

import torch

from jumpbench.samplers.jumps import clear_current


def uniforms(expected, x, after, rule):
    """Numbers (B, D) by which a leap with ``expected`` jumps (B, D, N) takes x to ``after`` (B, D).

    Each is the middle of the interval of its outcome, so that rounding decides nothing.
    """
    expected = clear_current(expected, x)
    running = expected.cumsum(-1)
    total = running[..., -1]
    divisor, _ = rule(total)
    above, own = (a.gather(-1, after.unsqueeze(-1)).squeeze(-1) for a in (running, expected))
    place = torch.where(after == x, (total + divisor) / 2, above - own / 2)
    return (place / divisor).nan_to_num(nan=0.5)  # an infinite divisor: the site stays anyway
