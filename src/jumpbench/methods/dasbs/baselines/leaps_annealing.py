"""The mathematics of LEAPS: annealing path, Kolmogorov residual, roll-out with weights.

The path runs from the uniform law at ``t = 0`` to the target at ``t = 1``,

    log rho_t(x) = t log nu(x) - (1 - t) D log N,

so ``Z_0 = 1`` and ``Z_1`` is the target's normaliser. For a lattice model without constant this is
the linear growth of its coupling, ``rho_t ~ exp(-beta J_t E / J)`` with ``J_t = t J``.

A locally equivariant flux ``F`` (:mod:`jumpbench.networks.locally_equivariant`) gives the rates
``relu(F_t(x)[i, n])`` of the jump ``x -> x^{i<-n}`` and ``relu(-F_t(x)[i, n])`` of the way back.
Sources: Holderrieth et al. 2025 (LEAPS); the appendix of DASBS that describes its use.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumpbench.samplers.categorical import sample_categorical
from jumpbench.samplers.jumps import renormalise
from jumpbench.samplers.mcmc.metropolis import LogProbDelta, single_site_metropolis
from jumpbench.targets.base import DiscreteTarget, random_states

Flux = Callable[[Tensor, Tensor], Tensor]


def residual_generator(target: DiscreteTarget, x: Tensor, t: Tensor, flux: Tensor) -> Tensor:
    """``xi_t(x) = d/dt log rho_t(x) - (incoming flow - outgoing rate)`` for every state.

        xi = log nu(x) + D log N + sum_{i,n} ( relu(F) - relu(-F) rho_t(x^{i<-n}) / rho_t(x) )

    It equals ``d/dt log Z_t`` everywhere exactly when the flux transports the path, and has that
    mean under ``rho_t / Z_t`` for *any* antisymmetric flux. The target must be positive.

    Args:
        x: ``(B, D)``.
        t: ``(B,)``.
        flux: ``(B, D, N)``, zero at the current symbol.

    Returns:
        ``(B,)``.
    """
    log_uniform = -target.length * torch.log(flux.new_tensor(target.n_states))
    with torch.no_grad():  # the target may be a network; the flux learns from it, not it from that
        growth = target.log_prob(x) - log_uniform
        ratios = torch.exp(t[:, None, None] * target.neighbor_log_ratios(x))
    balance = flux.relu() - (-flux).relu() * ratios
    return growth + balance.sum((-2, -1))


def euler_step(x: Tensor, rates: Tensor, dt: Tensor, generator: torch.Generator) -> Tensor:
    """One step of all sites at once: site ``i`` jumps to ``n`` with probability ``dt rates[i, n]``.

    Where a site's probabilities exceed one in total they are normalised (for two symbols: clipped
    at one, as in the original). ``rates`` (B, D, N) must be zero at the current symbol.
    """
    probabilities, _ = renormalise(dt * rates, x)
    return sample_categorical(probabilities, generator)


def metropolis_moves(
    target: DiscreteTarget, x: Tensor, t: Tensor, n_moves: int, generator: torch.Generator
) -> Tensor:
    """Single-site Metropolis moves that leave ``rho_t`` invariant; ``t`` is a scalar tensor.

    The kernel may propose the current symbol, so it makes ``n_moves N / (N - 1)`` proposals, of
    which ``n_moves`` on average are to another symbol.
    """
    n_steps = math.ceil(n_moves * target.n_states / (target.n_states - 1))
    delta = LogProbDelta(lambda y: t * target.log_prob(y), x)
    return single_site_metropolis(delta, x, n_steps, target.n_states, generator, delta.commit)[0]


@dataclass
class Rollout:
    """Chains along the path: ``states`` (K + 1, B, D) and log weights ``A`` (B,) at the last time.

    ``states`` holds the last time alone, as (1, B, D), if the path was not asked for.
    """

    states: Tensor
    log_weights: Tensor


@torch.no_grad()
def rollout(
    flux: Flux,
    target: DiscreteTarget,
    times: Tensor,
    n_chains: int,
    generator: torch.Generator,
    n_metropolis: int = 0,
    keep_path: bool = False,
) -> Rollout:
    """Simulates ``n_chains`` from the uniform law along ``times`` (K + 1, increasing from 0).

    Per step: ``A += dt xi_t(x)`` at its left end, an Euler step with the rates ``relu(F)``, then
    Metropolis moves at the new time. ``E[exp(A)] -> Z_t`` as the steps shrink, whatever the flux.
    """
    x = random_states(target, (n_chains,), generator)
    path = [x]
    log_weights = times.new_zeros(n_chains)
    for k in range(len(times) - 1):
        t = times[k].expand(n_chains)
        dt = times[k + 1] - times[k]
        field = flux(x, t)
        log_weights = log_weights + dt * residual_generator(target, x, t, field)
        x = euler_step(x, field.relu(), dt, generator)
        if n_metropolis:
            x = metropolis_moves(target, x, times[k + 1], n_metropolis, generator)
        if keep_path:
            path.append(x)
    return Rollout(torch.stack(path) if keep_path else x.unsqueeze(0), log_weights)


class FreeEnergy(nn.Module):
    """Scalar network ``F(t)`` for ``-log Z_t`` up to a constant; the loss needs ``dF/dt`` only."""

    def __init__(self, hidden: int = 200, depth: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(1, hidden), nn.SiLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(hidden, hidden), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 1, bias=False))

    def forward(self, t: Tensor) -> Tensor:
        """``(B,)`` to ``(B,)``."""
        return self.layers(t[:, None])[:, 0]

    def derivative(self, t: Tensor) -> Tensor:
        """``dF/dt``, ``(B,)``, differentiable in the parameters (forward mode, one pass)."""
        return torch.func.jvp(self.forward, (t,), (torch.ones_like(t),))[1]
