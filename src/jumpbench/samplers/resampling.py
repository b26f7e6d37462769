"""Resampling particles, many independent particle systems at once.

Every scheme takes log-weights (R, M), R systems of M particles, and returns ancestor indices
(R, M): particle j of system r continues as a copy of particle ``ancestors[r, j]``. All are
unbiased: particle m has M w_m copies on average, w the normalised weights. Log-weights may be
-inf; a system of nothing else counts as having equal weights. NaN or +inf raise ``ValueError``.
"""

import torch
from torch import Tensor

from jumpbench.ops.checks import require


def systematic(log_weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """One uniform u per system; the inverse cumulated weights C at (u + j) / M, j = 0..M-1.

    Every particle has floor(M w) or ceil(M w) copies: those j with C_(m-1) <= (u + j) / M < C_m,
    ceil(M C_m - u) - ceil(M C_(m-1) - u) of them, counted without a search. The least noise of the
    three.
    """
    rows, size = log_weights.shape
    u = _uniforms((rows, 1), log_weights, generator)
    cumulated = normalised(log_weights).cumsum(-1)
    total = cumulated[..., -1:]
    ends = torch.addcmul(-u, cumulated, size / total).ceil_()
    # M - u may round down to M - 1; nothing lies beyond the last particle that has weight.
    ends = torch.where(cumulated < total, ends.clamp_(0, size), size).long()
    copies = ends.diff(dim=-1, prepend=ends.new_zeros(rows, 1))
    particles = torch.arange(size, device=ends.device).expand(rows, size)
    chosen = particles.flatten().repeat_interleave(copies.flatten(), output_size=rows * size)
    return chosen.view(rows, size)


def multinomial(log_weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """M independent draws per system. The most noise of the three."""
    u = _uniforms(log_weights.shape, log_weights, generator)
    return _inverse(normalised(log_weights), u.sort(-1).values)


def residual(log_weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """floor(M w) copies for certain, the remaining ones drawn independently from the residues."""
    size = log_weights.shape[-1]
    expected = normalised(log_weights) * size
    # A weight that is k / M up to rounding gives k copies, whichever side it fell on.
    certain = (expected + 1e-9).floor()
    left = (expected - certain).clamp(min=0)
    cumulated = certain.cumsum(-1)
    positions = _positions(log_weights).expand_as(certain).contiguous()
    first = torch.searchsorted(cumulated, positions, right=True)
    u = _uniforms(log_weights.shape, log_weights, generator)
    total = left.sum(-1, keepdim=True)
    second = _inverse(left / total.clamp(min=1e-300), u)
    return torch.where(positions < cumulated[..., -1:], first.clamp(max=size - 1), second)


def take(particles: Tensor, ancestors: Tensor) -> Tensor:
    """Particles (R, M, ...) reordered by ``ancestors`` (R, M)."""
    rows = torch.arange(len(ancestors), device=ancestors.device)[:, None]
    return particles[rows, ancestors]


def normalised(log_weights: Tensor) -> Tensor:
    """Weights (R, M), summing to one, in float64; equal where no weight is positive."""
    log_weights = log_weights.double()
    require(log_weights < torch.inf, "log-weights are NaN or +inf; give finite ones or -inf")
    lost = ~log_weights.amax(-1, keepdim=True).isfinite()
    return log_weights.masked_fill(lost, 0.0).softmax(-1)


def _positions(log_weights: Tensor) -> Tensor:
    return torch.arange(log_weights.shape[-1], device=log_weights.device, dtype=torch.float64)


def _uniforms(
    shape: tuple[int, ...], log_weights: Tensor, generator: torch.Generator | None
) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=log_weights.device)


def _inverse(weights: Tensor, u: Tensor) -> Tensor:
    """First index at which the cumulated weights exceed u in [0, 1)."""
    cumulated = weights.cumsum(-1)
    # Scaling u by the total keeps it below the last step whatever the sum rounds to.
    index = torch.searchsorted(cumulated, (u * cumulated[..., -1:]).contiguous(), right=True)
    return index.clamp(max=weights.shape[-1] - 1)
