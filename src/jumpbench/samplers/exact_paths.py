"""Simulating jump processes without discretisation error."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.samplers.jumps import Hook, JumpInfo, JumpStep, RateFn, clear_current, one_jump


@torch.no_grad()
def uniformisation(
    rate_fn: RateFn,
    x: Tensor,
    start: float,
    end: float,
    bound: float,
    generator: torch.Generator | None = None,
    hooks: Sequence[Hook] = (),
) -> tuple[Tensor, JumpInfo]:
    """Exact paths for rates that vary in time, given a bound on the total rate out of a state.

    Each chain gets Poisson(bound * |end - start|) candidate times, uniform on the interval and
    sorted; at each it jumps to (d, v) with probability rate[d, v] / bound, else stays. Chains
    with fewer candidates wait, masked. One host synchronisation, to learn the greatest number.

    Args:
        rate_fn: (x (B, D), t (B,)) -> rates (B, D, N): every chain has its own time.
        x: initial states (B, D), not modified.
        start: first time of the interval.
        end: its last time, before or after ``start``.
        bound: at least the greatest sum of rates over sites and symbols, of any state and time.
        hooks: called at every candidate, with each chain's time (B,) and weight 1 / bound (B,), 0
            for waiting chains: sums of weight times a function are unbiased for its integral
            along the path.

    Raises:
        ValueError: if a total rate exceeded ``bound`` (beyond rounding).
    """
    n_chains, device = x.shape[0], x.device
    mean = torch.full((n_chains,), bound * abs(end - start), device=device)
    counts = torch.poisson(mean, generator=generator).long()
    most = int(counts.max()) if n_chains else 0
    u = torch.rand(n_chains, most, generator=generator, device=device)
    waiting = torch.arange(most, device=device) >= counts[:, None]
    u = u.masked_fill(waiting, 1.0).sort(-1).values
    times = start + (end - start) * u
    jumps = torch.zeros(n_chains, dtype=torch.long, device=device)
    excess = torch.zeros(n_chains, device=device)
    for time, wait in zip(times.T, waiting.T, strict=True):
        rates = clear_current(rate_fn(x, time), x)
        weight = ~wait / bound
        probabilities = rates * weight[:, None, None]
        total = probabilities.flatten(1).sum(-1)
        excess = torch.maximum(excess, total - 1)
        happens = torch.rand(n_chains, generator=generator, device=device) < total
        after = one_jump(x, probabilities, happens, generator)
        jumps += happens
        for hook in hooks:
            hook(JumpStep(x, after, time, weight, rates))
        x = after
    if bool((excess > 1e-5).any()):
        raise ValueError(
            f"total rate {float(excess.max() + 1) * bound:.6g} exceeds the bound {bound:.6g}; "
            "give a greater bound"
        )
    return x, JumpInfo(jumps, torch.zeros_like(jumps), most)


@torch.no_grad()
def gillespie(
    rate_fn: RateFn,
    x: Tensor,
    times: Tensor | Sequence[float],
    generator: torch.Generator | None = None,
    hooks: Sequence[Hook] = (),
    check_every: int = 8,
) -> tuple[Tensor, JumpInfo]:
    """Exact paths for rates that are constant in time on each piece [t_i, t_{i+1}].

    Each chain waits an exponential time at its state's total rate; a wait that passes the end of
    the piece is cut there and drawn anew, which an exponential law allows. On a time-homogeneous
    process ``times`` is just (start, end). Chains that have finished are masked; whether all
    have is asked every ``check_every`` events, the only host synchronisation.

    Args:
        rate_fn: (x (B, D), t (B,)) -> rates (B, D, N), asked at the start of each chain's piece.
        x: initial states (B, D), not modified.
        times: piece boundaries, increasing or decreasing.
        hooks: called after each wait, with the start of each chain's piece as time (B,), and the
            time waited as weight (B,), 0 for finished chains.
    """
    grid = torch.as_tensor(times, device=x.device)
    if not grid.is_floating_point():
        grid = grid.to(torch.get_default_dtype())
    lengths, n_pieces = grid.diff().abs(), len(grid) - 1
    n_chains = x.shape[0]
    piece = torch.zeros(n_chains, dtype=torch.long, device=x.device)
    left = lengths[0].expand(n_chains).clone()
    jumps = torch.zeros_like(piece)
    events = 0
    while events % check_every or bool((piece < n_pieces).any()):
        events += 1
        at = piece.clamp(max=n_pieces - 1)
        rates = clear_current(rate_fn(x, grid[at]), x)
        total = rates.flatten(1).sum(-1)
        wait = torch.empty_like(total).exponential_(generator=generator) / total
        happens = (wait < left) & (piece < n_pieces)
        after = one_jump(x, rates, happens, generator)
        jumps += happens
        waited = torch.where(piece < n_pieces, torch.minimum(wait, left), 0.0)
        for hook in hooks:
            hook(JumpStep(x, after, grid[at], waited, rates))
        x = after
        piece = piece + ~happens
        next_piece = lengths[piece.clamp(max=n_pieces - 1)]
        left = torch.where(happens, left - wait, next_piece)
    return x, JumpInfo(jumps, torch.zeros_like(jumps), events)
