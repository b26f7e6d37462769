"""Simulating jump processes on a time grid: Euler and tau-leaping, all sites at once."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.samplers.categorical import sample_categorical
from jumpbench.samplers.jumps import (
    Hook,
    JumpInfo,
    RateFn,
    Rows,
    Step,
    clear_current,
    renormalise,
    stay,
)


@torch.no_grad()
def tau_leaping(
    rate_fn: RateFn,
    x: Tensor,
    times: Tensor | Sequence[float],
    generator: torch.Generator | None = None,
    weights: Tensor | Sequence[float] | None = None,
    rows: Rows = stay,
    hook: Hook | None = None,
) -> tuple[Tensor, JumpInfo]:
    """One draw per site and step, with the rates at the step's start.

    With tau-leaping on symbols a site jumps at most once per step: to v with probability
    weight * rate[v], and stays with the rest.

    Args:
        rate_fn: (x (B, D), t 0-dimensional) -> rates (B, D, N).
        x: initial states (B, D), not modified.
        times: M + 1 grid times t_0..t_M, increasing or decreasing.
        weights: what the rates of each of the M steps are multiplied by; by default the
            lengths |t_{i+1} - t_i|. For rates gamma_t r(x, t) with a known integral, let
            ``rate_fn`` return r and pass the exact integrals of gamma.
        rows: what to do with rows that sum to more than one: :func:`~jumpbench.samplers.jumps.
            stay`, ``renormalise`` or ``frozen``. They are counted.
        hook: called after each step, for path weights or records.

    Returns:
        The states (B, D) at t_M and :class:`~jumpbench.samplers.jumps.JumpInfo`.
    """
    times = torch.as_tensor(times, device=x.device)
    if not times.is_floating_point():
        times = times.to(torch.get_default_dtype())
    weights = times.diff().abs() if weights is None else torch.as_tensor(weights, device=x.device)
    if len(weights) != len(times) - 1:
        raise ValueError(f"{len(weights)} weights for {len(times)} times; give one per step")
    jumps = torch.zeros(x.shape[0], dtype=torch.long, device=x.device)
    invalid = torch.zeros_like(jumps)
    for time, weight in zip(times[:-1], weights, strict=True):
        rates = clear_current(rate_fn(x, time), x)
        probabilities, bad = rows(rates * weight, x)
        after = sample_categorical(probabilities, generator).to(x.dtype)
        jumps += (after != x).sum(-1)
        invalid += bad.sum(-1)
        if hook is not None:
            hook(Step(x, after, time, weight, rates, probabilities))
        x = after
    return x, JumpInfo(jumps, invalid, len(weights))


def euler(
    rate_fn: RateFn,
    x: Tensor,
    times: Tensor | Sequence[float],
    generator: torch.Generator | None = None,
    hook: Hook | None = None,
) -> tuple[Tensor, JumpInfo]:
    """Euler steps: as :func:`tau_leaping`, rows above one being scaled to one."""
    return tau_leaping(rate_fn, x, times, generator, rows=renormalise, hook=hook)
