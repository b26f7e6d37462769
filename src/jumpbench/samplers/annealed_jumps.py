"""Annealed jump processes: rates that carry the uniform law to a target, and their weights.

The path runs from the uniform law at ``t = 0`` to the target at ``t = 1``,

    log rho_t(x) = t log nu(x) - (1 - t) D log N,

so ``Z_0 = 1`` and ``Z_1`` is the target's normaliser. For a lattice model without constant this is
the linear growth of its coupling, ``rho_t ~ exp(-beta J_t E / J)`` with ``J_t = t J``.

A locally equivariant flux ``F`` (:mod:`jumpbench.networks.locally_equivariant`) gives the rates
``relu(F_t(x)[i, n])`` of the jump ``x -> x^{i<-n}`` and ``relu(-F_t(x)[i, n])`` of the way back.
Sources: Holderrieth et al. 2025 (LEAPS); Ou et al. 2025 (DNFS); the appendix of DASBS that
describes LEAPS.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.kernels.checks import require
from jumpbench.kernels.uniforms import fill_uniform_
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.jumps import leap, renormalise
from jumpbench.targets.base import DiscreteTarget, random_states
from jumpbench.targets.tempered import Tempered

Flux = Callable[[Tensor, Tensor], Tensor]


class Ends(NamedTuple):
    """How much the two ends of a step count in the sum for ``int xi dt``; they add up to 1."""

    left: float
    right: float


LEFT_END = Ends(1.0, 0.0)
"""As released: off by O(dt) even with exact rates, by -dt/2 (E_1 - E_0) of ``d/dt log rho``."""
TRAPEZOIDAL = Ends(0.5, 0.5)
"""Off by O(dt^2) along exact rates; one more evaluation of the flux, at the last time."""


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
    with torch.no_grad():  # a target may be a module; nothing here is a function of its parameters
        ratios = torch.exp(t[:, None, None] * target.neighbor_log_ratios(x))
        growth = target.log_prob(x) + target.length * math.log(target.n_states)
    balance = flux.relu() - (-flux).relu() * ratios
    return growth + balance.sum((-2, -1))


class Moves(Protocol):
    """Moves that leave ``rho_t`` alone, at a scalar time: new states (B, D), and their cost."""

    def __call__(self, x: Tensor, t: Tensor, generator: torch.Generator) -> tuple[Tensor, Cost]: ...


@dataclass(frozen=True)
class KernelMoves:
    """``steps`` steps of a Markov kernel at the tempered target, which is ``rho_t``."""

    target: DiscreteTarget
    kernel: Kernel
    steps: int

    def __call__(self, x: Tensor, t: Tensor, generator: torch.Generator) -> tuple[Tensor, Cost]:
        x, info = self.kernel(Tempered(self.target, t), x, self.steps, generator)
        return x, info.cost


@dataclass
class Rollout:
    """Chains along the path.

    Attributes:
        states: (K + 1, B, D); the last time alone, as (1, B, D), if the path was not asked for.
        log_weights: (B,) log weights at the last time, float64.
        cost: of the last states, one sample per chain.
    """

    states: Tensor
    log_weights: Tensor
    cost: Cost


@torch.no_grad()
def annealed_rollout(
    flux: Flux,
    target: DiscreteTarget,
    times: Tensor,
    n_chains: int,
    generator: torch.Generator,
    moves: Moves | None = None,
    keep_path: bool = False,
    ends: Ends = LEFT_END,
) -> Rollout:
    """Simulates ``n_chains`` from the uniform law along ``times`` (K + 1, increasing from 0).

    Per step: an Euler step with the rates ``relu(F)`` at its left end (rows above one are scaled to
    one), then moves at the new time. The log weight is ``sum_k dt_k (left xi_{t_k}(x_k) + right
    xi_{t_k+1}(x_{k+1}))``, ``x_k`` the states after the moves; ``E[exp(A)] -> Z_t`` as the steps
    shrink, whatever the flux. One evaluation of the flux per step gives rates and weights.

    Args:
        flux: (x (B, D), t (B,)) -> (B, D, N), zero at the current symbols.
        moves: such as :class:`KernelMoves`; none by default.
        keep_path: return the states at all times.
        ends: :data:`LEFT_END` or :data:`TRAPEZOIDAL`.
    """
    x = random_states(target, (n_chains,), generator)
    path = [x]
    log_weights = torch.zeros(n_chains, dtype=torch.float64, device=times.device)
    n_steps, cost = len(times) - 1, Cost()
    calls = n_steps + (ends.right != 0)
    for k in range(calls):
        t = times[k].expand(n_chains)
        field = flux(x, t)
        xi = residual_generator(target, x, t, field).double()
        cost += Cost(network_evaluations=1, energy_evaluations=2, sequential_steps=k < n_steps)
        if k > 0:
            log_weights += ends.right * (times[k] - times[k - 1]) * xi
        if k == n_steps:
            break
        dt = times[k + 1] - times[k]
        log_weights += ends.left * dt * xi
        expected = (dt * field.relu()).contiguous()
        u = torch.empty(x.shape, dtype=expected.dtype, device=x.device)
        x = leap(expected, x, fill_uniform_(u, generator), renormalise).after
        if moves is not None:
            x, moved = moves(x, times[k + 1], generator)
            cost += moved
        if keep_path:
            path.append(x)
    require(log_weights.isnan().logical_not_(), "the flux or the target of a roll-out is NaN")
    return Rollout(torch.stack(path) if keep_path else x.unsqueeze(0), log_weights, cost)
