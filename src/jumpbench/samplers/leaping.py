"""Simulating jump processes on a time grid: Euler and tau-leaping, all sites at once."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.ops.precision import at_least_single
from jumpbench.ops.uniforms import fill_uniform_
from jumpbench.samplers.jumps import (
    Hook,
    JumpInfo,
    JumpStep,
    RateFn,
    Rule,
    leap,
    renormalise,
    row_starts,
    stay,
)


@torch.no_grad()
def tau_leaping(
    rate_fn: RateFn,
    x: Tensor,
    times: Tensor | Sequence[float],
    generator: torch.Generator | None = None,
    weights: Tensor | Sequence[float] | None = None,
    rule: Rule = stay,
    hooks: Sequence[Hook] = (),
) -> tuple[Tensor, JumpInfo]:
    """One draw per site and step, with the rates at the step's start.

    With tau-leaping on symbols a site jumps at most once per step: to v with probability
    weight * rate[v], and stays with the rest.

    Args:
        rate_fn: (x (B, D), t (B,)) -> rates (B, D, N), not modified. Half types are taken to
            float32.
        x: initial states (B, D), not modified.
        times: M + 1 grid times t_0..t_M, increasing or decreasing.
        weights: what the rates of each of the M steps are multiplied by; by default the
            lengths |t_{i+1} - t_i|. For rates gamma_t r(x, t) with a known integral, let
            ``rate_fn`` return r and pass the exact integrals of gamma.
        rule: what to do with rows that sum to more than one: :func:`~jumpbench.samplers.jumps.
            stay`, ``renormalise`` or ``frozen``. They are counted.
        hooks: called after each step, for path weights or records.

    Returns:
        The states (B, D) at t_M and :class:`~jumpbench.samplers.jumps.JumpInfo`.

    Raises:
        ValueError: rates were NaN; noticed at the end. (Infinite rates are an invalid row.)
    """
    times, weights = _grid(times, weights, x.device)
    jumps = torch.zeros(x.shape[0], dtype=torch.long, device=x.device)
    invalid = torch.zeros_like(jumps)
    now = torch.empty(x.shape[0], device=x.device)
    expected, u, rows, totals = None, now, now, torch.zeros((), device=x.device)
    for time, weight in zip(times[:-1], weights, strict=True):
        t = time.expand(len(x)) if isinstance(time, Tensor) else now.fill_(time)
        rates = at_least_single(rate_fn(x, t))
        if expected is None:
            # Kept between the steps: memory fresh from the system is slower than the arithmetic.
            expected = torch.empty_like(rates, memory_format=torch.contiguous_format)
            u = torch.empty(x.shape, dtype=rates.dtype, device=x.device)
            rows = row_starts(expected)
        torch.mul(rates, weight, out=expected)
        moved = leap(expected, x, fill_uniform_(u, generator), rule, rows)
        jumps += (moved.after != x).sum(-1)
        invalid += moved.invalid.sum(-1)
        totals += moved.total.sum()  # NaN once a rate was
        for hook in hooks:
            hook(JumpStep(x, moved.after, t, weight, rates, expected, moved))
        x = moved.after
    require(totals.isnan().logical_not_(), "rates of a jump process are NaN: so was the network")
    return x, JumpInfo(jumps, invalid, len(weights))


def euler(
    rate_fn: RateFn,
    x: Tensor,
    times: Tensor | Sequence[float],
    generator: torch.Generator | None = None,
    hooks: Sequence[Hook] = (),
) -> tuple[Tensor, JumpInfo]:
    """Euler steps: as :func:`tau_leaping`, rows above one being scaled to one."""
    return tau_leaping(rate_fn, x, times, generator, rule=renormalise, hooks=hooks)


def _grid(
    times: Tensor | Sequence[float], weights: Tensor | Sequence[float] | None, device: torch.device
) -> tuple[Tensor | Sequence[float], Tensor | Sequence[float]]:
    """Times and weights: tensors on the device (never read), or plain numbers."""
    if isinstance(times, Tensor):
        times = times.to(device)
        times = times if times.is_floating_point() else times.to(torch.get_default_dtype())
        weights = times.diff().abs() if weights is None else weights
    else:
        lengths = [abs(b - a) for a, b in pairwise(times)]
        weights = lengths if weights is None else weights
    if isinstance(weights, Tensor):
        weights = weights.to(device)
    if len(weights) != len(times) - 1:
        raise ValueError(f"{len(weights)} weights for {len(times)} times; give one per step")
    return times, weights
