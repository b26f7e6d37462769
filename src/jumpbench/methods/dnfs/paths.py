"""Trajectories of a flow sampler, forward with importance weights and backward for likelihoods."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumpbench.methods.dnfs.residual import (
    Slope,
    control_integrand,
    flux_of,
    mask_of,
    slope_of,
    start_states,
)
from jumpbench.samplers.cost import Cost
from jumpbench.targets.base import DiscreteTarget

Move = Callable[[DiscreteTarget, Tensor, Tensor, torch.Generator], tuple[Tensor, float]]
"""(target, x, t, generator) -> (x, energy evaluations per chain), leaving p_t invariant."""


def time_grid(n_steps: int, device: torch.device | str | None = None) -> Tensor:
    """t_k = k / K, k = 0..K."""
    return torch.linspace(0, 1, n_steps + 1, device=device)


def euler_step(x: Tensor, expected: Tensor, generator: torch.Generator) -> Tensor:
    """All sites at once: site i becomes n with probability ``expected[i, n]`` (B, D, N).

    A site whose total exceeds one jumps for certain; ``expected`` is 0 at the current symbols.
    """
    running = expected.cumsum(-1)
    total = running[..., -1:]
    u = torch.rand(x.shape, generator=generator, device=x.device).unsqueeze(-1)
    fresh = (running <= u * total.clamp(min=1)).sum(-1)
    return torch.where(fresh == expected.shape[-1], x, fresh)


@dataclass
class Paths:
    """Trajectories on a grid of K + 1 times.

    Attributes:
        states: (K + 1, B, D), or (1, B, D) with the end alone.
        log_prob: log rho at the end, (B,).
        slopes: d/dt log p~ at every grid point, (K + 1, B).
        integrands: xi with clamped ratios at every grid point, (K + 1, B).
        left_log_weights: sum of dt xi at left ends, float64 (B,), as in the released code.
        log_weights: the same by the trapezoidal rule: without the bias of order dt.
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


@torch.no_grad()
def simulate(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    n: int,
    generator: torch.Generator,
    clamp: float | None = 5.0,
    keep_path: bool = False,
    move: Move | None = None,
    on_point: Callable[[int, Slope], None] | None = None,
) -> Paths:
    """n Euler trajectories from the uniform law (Algorithm 2), one network pass a grid point.

    The weights use unclamped ratios: E[exp(w)] tends to Z as the steps shrink, whatever the rates.

    Args:
        times: (K + 1,), from 0 to 1.
        clamp: of ``integrands`` alone.
        move: MCMC moves after every Euler step. They leave no state at which the right end of the
            step could be weighted without a second network pass, so ``log_weights`` are then
            the left-end ones.
        on_point: called with k and the target's values at every grid point, to keep them.
    """
    x = start_states(target, n, generator)
    mask = mask_of(target)
    path, slopes, clamped, exact, energies = [], [], [], [], 0.0
    for k in range(len(times)):
        t = times[k].expand(n)
        flux = flux_of(network, target, x, t)
        slope = slope_of(target, x)
        if on_point is not None:
            on_point(k, slope)
        slopes.append(slope.time)
        clamped.append(control_integrand(slope, t, flux, clamp))
        exact.append(control_integrand(slope, t, flux).double())
        if keep_path:
            path.append(x)
        if k + 1 == len(times):
            break
        x = euler_step(x, (times[k + 1] - times[k]) * flux.relu(), generator)
        if mask is not None:
            x = x * mask
        if move is not None:
            x, spent = move(target, x, times[k + 1], generator)
            energies += spent
    xi, dt = torch.stack(exact), times.diff().double()[:, None]
    left = (dt * xi[:-1]).sum(0)
    return Paths(
        torch.stack(path) if keep_path else x.unsqueeze(0),
        slope.log_prob, torch.stack(slopes), torch.stack(clamped), left,
        left if move is not None else (dt * (xi[:-1] + xi[1:]) / 2).sum(0),
        Cost(float(len(times)), 2.0 * len(times) + energies, float(len(times) - 1)),
    )  # fmt: skip


@torch.no_grad()
def sample(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    n: int,
    generator: torch.Generator,
    move: Move | None = None,
) -> tuple[Tensor, Cost]:
    """Ends (n, D) of Euler trajectories without weights: K network passes, no energies.

    As :func:`simulate` draws, number for number.
    """
    x, energies = start_states(target, n, generator), 0.0
    mask = mask_of(target)
    for k in range(len(times) - 1):
        flux = flux_of(network, target, x, times[k].expand(n))
        x = euler_step(x, (times[k + 1] - times[k]) * flux.relu(), generator)
        if mask is not None:
            x = x * mask
        if move is not None:
            x, spent = move(target, x, times[k + 1], generator)
            energies += spent
    steps = float(len(times) - 1)
    return x, Cost(steps, energies, steps)


@torch.no_grad()
def reverse_weights(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    x: Tensor,
    generator: torch.Generator,
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
    mask = mask_of(target)
    for k in range(len(times) - 1, -1, -1):
        t = times[k].expand(len(x))
        flux = flux_of(network, target, x, t)
        slope = slope_of(target, x)
        values.append(control_integrand(slope, t, flux).double())
        if keep_path or k == 0:
            path.append(x)
        if k == 0:
            break
        rates = (-flux).relu() * (t[:, None, None] * slope.ratios).exp()
        x = euler_step(x, (times[k] - times[k - 1]) * rates, generator)
        if mask is not None:
            x = x * mask
    xi, dt = torch.stack(values[::-1]), times.diff().double()[:, None]
    return (dt * (xi[:-1] + xi[1:]) / 2).sum(0), torch.stack(path[::-1])


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
