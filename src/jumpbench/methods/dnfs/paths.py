"""Trajectories of a flow sampler, forward with importance weights and backward for likelihoods."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumpbench.ops.checks import require
from jumpbench.samplers.annealed_jumps import (
    LEFT_END,
    TRAPEZOIDAL,
    Moves,
    Point,
    PointHook,
    annealed_rollout,
    euler_step,
    path_sum,
)
from jumpbench.samplers.annealed_path import (
    control_integrand,
    fluxes_of,
    incoming_flow,
    mask_of,
    slope_of,
    start_states,
)
from jumpbench.samplers.cost import Cost
from jumpbench.targets.base import DiscreteTarget


def time_grid(n_steps: int, device: torch.device | str | None = None) -> Tensor:
    """t_k = k / K, k = 0..K."""
    return torch.linspace(0, 1, n_steps + 1, device=device)


@dataclass
class FlowPaths:
    """Trajectories on a grid of K + 1 times.

    Attributes:
        states: (K + 1, B, D), or (1, B, D) with the end alone.
        log_prob: log rho at the end, (B,).
        slopes: d/dt log p~ at every grid point, (K + 1, B).
        integrands: xi with clamped ratios at every grid point, (K + 1, B).
        left_log_weights: sum of dt xi at left ends, float64 (B,), as in the released code.
        log_weights: the same by the trapezoidal rule: off by O(dt^2) where the rates solve the
            Kolmogorov equation; with other rates by O(dt), as left ends are. Without that error:
            :func:`~jumpbench.methods.dnfs.chain_weights.weighted_chains`.
        cost: per trajectory.
    """

    states: Tensor
    log_prob: Tensor
    slopes: Tensor
    integrands: Tensor
    left_log_weights: Tensor
    log_weights: Tensor
    cost: Cost

    @property
    def end(self) -> Tensor:
        return self.states[-1]


def simulate_flow(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    n: int,
    generator: torch.Generator,
    clamp: float | None = 5.0,
    keep_path: bool = False,
    moves: Moves | None = None,
    hook: PointHook | None = None,
) -> FlowPaths:
    """n Euler trajectories from the uniform law (Algorithm 2), one network pass a grid point.

    The weights use unclamped ratios: E[exp(w)] tends to Z as the steps shrink, whatever the rates;
    along rates that are not exact it is off by O(dt) by either rule.

    Args:
        times: (K + 1,), from 0 to 1.
        clamp: of ``integrands`` alone.
        moves: MCMC moves after every Euler step. They leave no state at which the right end of the
            step could be weighted without a second network pass, so ``log_weights`` are then
            the left-end ones.
        hook: called at every grid point.

    Raises:
        ValueError: the network or the target gave NaN.
    """
    log_probs, slopes, clamped = [], [], []

    def note(point: Point) -> None:  # not the ratios, which would be kept for every time
        log_probs.append(point.slope.log_prob)
        slopes.append(point.slope.time)
        clamped.append(control_integrand(point.slope, point.t, point.flux, clamp))

    rollout = annealed_rollout(
        fluxes_of(network, target, n), target, times, n, generator, moves, keep_path,
        TRAPEZOIDAL, (note,) if hook is None else (note, hook),
    )  # fmt: skip
    left = path_sum(rollout.integrands, times, LEFT_END)
    return FlowPaths(
        rollout.states, log_probs[-1], torch.stack(slopes), torch.stack(clamped), left,
        rollout.log_weights if moves is None else left, rollout.cost,
    )  # fmt: skip


@torch.no_grad()
def sample(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    n: int,
    generator: torch.Generator,
    moves: Moves | None = None,
) -> tuple[Tensor, Cost]:
    """Ends (n, D) of Euler trajectories without weights: K network passes, no energies.

    As :func:`simulate_flow` draws, number for number.

    Raises:
        ValueError: the network gave NaN.
    """
    x, cost, mask = start_states(target, n, generator), Cost(), mask_of(target)
    flux_at = fluxes_of(network, target, n)
    total = torch.zeros((), device=x.device)
    for k in range(len(times) - 1):
        rates = flux_at(x, times[k].expand(n)).relu()
        total += rates.sum()  # NaN once a rate was
        x = euler_step(x, (times[k + 1] - times[k]) * rates, generator, mask)
        cost += Cost(network_evaluations=1, sequential_steps=1)
        if moves is not None:
            x, moved = moves(target, x, times[k + 1], generator)
            cost += moved
    require(total.isnan().logical_not_(), "the flux of a roll-out is NaN")
    return x, cost


@torch.no_grad()
def reverse_weights(
    network: nn.Module, target: DiscreteTarget, times: Tensor, x: Tensor, generator: torch.Generator
) -> Tensor:
    """Integral of xi along trajectories from ``x`` (B, D) at t = 1 down to 0; float64 (B,).

    The rates of going back are [-G]+ exp(t r) (equation 42, with the minus sign that its last
    member lacks), evaluated at the later time of each step; trapezoidal rule. Its mean over exact
    samples is at least log Z, and for each x

        log rho(x) - mean of the integral <= log p_theta(x)   (the ELBO, eta being normalised).
    """
    return reverse_paths(network, target, times, x, generator)[0]


@torch.no_grad()
def reverse_paths(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    x: Tensor,
    generator: torch.Generator,
    keep_path: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`reverse_weights` and the states (K + 1, B, D) in the order of ``times``.

    Without ``keep_path`` the states are those at t = 0 alone, (1, B, D).
    """
    values, path = [], []
    mask, flux_at = mask_of(target), fluxes_of(network, target, len(x))
    for k in range(len(times) - 1, -1, -1):
        t = times[k].expand(len(x))
        flux = flux_at(x, t)
        slope = slope_of(target, x)
        values.append(control_integrand(slope, t, flux).double())
        if keep_path or k == 0:
            path.append(x)
        if k == 0:
            break
        rates = incoming_flow(flux, t[:, None, None] * slope.ratios)
        x = euler_step(x, (times[k] - times[k - 1]) * rates, generator, mask)
    integral = path_sum(torch.stack(values[::-1]), times, TRAPEZOIDAL)
    require(integral.isnan().logical_not_(), "the flux or the target of a way back is NaN")
    return integral, torch.stack(path[::-1])


def evidence_lower_bound(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    x: Tensor,
    generator: torch.Generator,
    n_paths: int = 1,
) -> Tensor:
    """Lower bound (B,) of log p_theta(x), over ``n_paths`` reverse trajectories each."""
    runs = [reverse_weights(network, target, times, x, generator) for _ in range(n_paths)]
    return target.log_prob(x).double() - torch.stack(runs).mean(0)
