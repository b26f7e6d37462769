"""Importance weights of the discrete-time chain: unbiased at every number of steps.

The integral of xi along Euler trajectories (:mod:`~jumpbench.methods.dnfs.paths`) gives E[exp] = Z
as the steps shrink; unless the rates solve the Kolmogorov equation it is off by order dt, by the
trapezoidal rule, too. A chain x_0 ~ eta, x_(k+1) ~ F_k(. | x_k) has weights without that error
(annealed importance sampling, Neal 2001, with backward kernels B_k of one's own):

    w = rho(x_K) / eta(x_0)  prod_k  B_k(x_k | x_(k+1)) / F_k(x_(k+1) | x_k),      E[w] = Z,

whatever the flux G and however few the steps, if every B_k sums to 1 and F_k(y | x) > 0 wherever
B_k(x | y) > 0. Here both move all sites at once, site by site at frozen rates (a site stays with
exp(-dt times its total rate)):

    F_k: [G]+ + c min(1, exp(t r))  at (t_k, x_k),
    B_k: [-G]+ exp(t r) + c min(1, exp(t r))  at (t_(k+1), x_(k+1)), those of going back.

The part in c > 0, a Metropolis process that leaves p_t alone, is what makes the condition hold:
without it two sites that jump together can change a flux's sign, the way back is then one that F
never takes, and E[w] is below Z. In the limit of small steps the weights are those of the integral.
Before it they hold the noise of the discretisation, so their effective sample size is smaller.
"""

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.ops.checks import require
from jumpbench.samplers.annealed_jumps import euler_step
from jumpbench.samplers.annealed_path import (
    fluxes_of,
    incoming_flow,
    log_start,
    mask_of,
    slope_of,
    start_states,
)
from jumpbench.samplers.cost import Cost, table_evaluations
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.jumps import clear_current, frozen, jump_law
from jumpbench.targets.base import DiscreteTarget

CORRECTOR = 0.3
"""c. The more moves, the nearer is the chain to p_t; from .3 on the effective sample size hardly
grows (Table ``dnfs/exact``, 3x3 Ising, 64 steps: .98; trapezoidal weights: .998)."""


def both_ways(
    flux: Tensor, ratios: Tensor, x: Tensor, mask: Tensor | None, corrector: float
) -> tuple[Tensor, Tensor]:
    """Rates of F and of B at states ``x`` (B, D), (B, D, N) float64 each, 0 at the current symbols.

    ``ratios``: of p_t, (B, D, N).
    """
    flux, ratios = flux.double(), ratios.double()
    moves = clear_current(corrector * ratios.clamp(max=0).exp(), x)
    if mask is not None:
        moves = moves * mask[..., None]
    return flux.relu() + moves, incoming_flow(flux, ratios) + moves


def log_kernel(expected: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """log of the chance (B,) that states ``x`` become ``y``; ``expected``: rates times the step."""
    law, _ = jump_law(expected, x, frozen)
    return law.gather(-1, y.long().unsqueeze(-1)).squeeze(-1).log().sum(-1)


def check_corrector(corrector: float) -> None:
    """Raises UserError unless the corrector is positive, which the weights need."""
    if not corrector > 0:
        raise UserError(f"the corrector must be positive, not {corrector}: it makes E[w] equal Z")


@torch.no_grad()
def weighted_chains(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    n: int,
    generator: torch.Generator,
    corrector: float = CORRECTOR,
) -> Draws:
    """Ends of ``n`` chains with unbiased weights, one network pass and table of ratios a time.

    Args:
        times: (K + 1,), from 0 to 1.
        corrector: c, above 0.

    Raises:
        UserError: the corrector is not positive.
        ValueError: the network or the target gave NaN.
    """
    check_corrector(corrector)
    x, mask = start_states(target, n, generator), mask_of(target)
    log_weights = -torch.as_tensor(log_start(target), device=x.device).double().expand(n)
    before, expected, cost = x, x, Cost()
    flux_at = fluxes_of(network, target, n)
    total = torch.zeros((), dtype=torch.float64, device=x.device)
    for k, time in enumerate(times):
        t = time.expand(n)
        slope = slope_of(target, x)
        forward, backward = both_ways(
            flux_at(x, t), t[:, None, None] * slope.ratios, x, mask, corrector
        )
        total += forward.sum() + backward.sum()  # NaN once a rate was
        cost += Cost(1, table_evaluations(target), sequential_steps=k > 0)
        if k > 0:
            log_weights = log_weights - log_kernel(expected, before, x)
            log_weights = log_weights + log_kernel((time - times[k - 1]) * backward, x, before)
        if k + 1 < len(times):
            before, expected = x, (times[k + 1] - time) * forward
            x = euler_step(x, expected, generator, mask, frozen)
    log_weights = log_weights + slope.log_prob.double()
    require(
        (total + log_weights.sum()).isnan().logical_not_(),
        "the flux or the target of a chain is NaN",
    )
    return Draws(x, log_weights, cost)
