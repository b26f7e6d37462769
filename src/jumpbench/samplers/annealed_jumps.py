"""Annealed jump processes: rates that carry the uniform law to a target, and their weights.

The path, its residual xi and the flux that gives rates and residual in one pass are those of
:mod:`~jumpbench.samplers.annealed_path`. Sources: LEAPS (Holderrieth et al. 2025), DNFS (Ou et al.
2025), the appendix of DASBS that describes LEAPS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.ops.precision import at_least_single
from jumpbench.ops.uniforms import fill_uniform_
from jumpbench.samplers.annealed_path import (
    Flux,
    PathLaw,
    Slope,
    control_integrand,
    mask_of,
    slope_of,
    start_states,
)
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import Cost, table_evaluations
from jumpbench.samplers.jumps import Rule, leap, renormalise
from jumpbench.targets.base import DiscreteTarget


class Ends(NamedTuple):
    """How much the two ends of a step count in the sum for ``int xi dt``; they add up to 1."""

    left: float
    right: float


LEFT_END = Ends(1.0, 0.0)
"""Off by O(dt) even with exact rates, by -dt/2 (E_1 - E_0) of ``d/dt log rho``.

The rule of DNFS's released code and of LEAPS's for more than two symbols. LEAPS's step of two
symbols changes the states in place before it weighs them: its sum has xi of t_k at the states of
t_(k+1), which is none of the rules here.
"""
TRAPEZOIDAL = Ends(0.5, 0.5)
"""Off by O(dt^2) along exact rates, by O(dt) along others; one more evaluation of the flux, at the
last time."""


class Moves(Protocol):
    """Moves that leave p_t of a target alone, at a scalar time: new states (B, D), their cost."""

    def __call__(
        self, target: DiscreteTarget, x: Tensor, t: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Cost]: ...


@dataclass(frozen=True)
class KernelMoves:
    """``steps`` steps of a Markov kernel on p_t (DNFS, section 5.3, Table 6).

    For targets with padded sites the kernel must take its moves from ``neighbor_log_ratios``,
    which exclude these.
    """

    kernel: Kernel
    steps: int

    def __call__(
        self, target: DiscreteTarget, x: Tensor, t: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Cost]:
        x, info = self.kernel(PathLaw(target, t), x, self.steps, generator)
        return x, info.cost

    def start(self, target: DiscreteTarget, x: Tensor) -> Cost:
        """The part of a call's cost that is the state which it starts from. Moves at the next time
        that start where the last ones ended know it: log p_t and its ratios are t times those of
        the target."""
        return self.kernel(target, x, 0)[1].cost


class Point(NamedTuple):
    """A grid point of a roll-out: its number, t (B,), x (B, D), the flux (B, D, N), the target."""

    k: int
    t: Tensor
    x: Tensor
    flux: Tensor
    slope: Slope


class PointHook(Protocol):
    def __call__(self, point: Point) -> None: ...


@dataclass
class Rollout:
    """Chains along the path.

    Attributes:
        states: (K + 1, B, D); the last time alone, as (1, B, D), if the path was not asked for.
        integrands: xi at the times where the flux was evaluated, float64, (K, B) or (K + 1, B).
        log_weights: (B,) log weights at the last time, float64.
        cost: of the last states, one sample per chain.
    """

    states: Tensor
    integrands: Tensor
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
    hooks: Sequence[PointHook] = (),
    rule: Rule = renormalise,
) -> Rollout:
    """Simulates ``n_chains`` from the uniform law along ``times`` (K + 1, increasing from 0).

    Per step: :func:`euler_step` with the rates ``relu(G)`` at its left end, then moves at the new
    time. The log weight is :func:`path_sum` of xi along the states after the moves;
    ``E[exp(log weight)] -> Z_t`` as the steps shrink, for any antisymmetric flux. One evaluation
    of the flux per step gives rates and weights.

    Args:
        flux: in half precision it is taken to float32.
        moves: such as :class:`KernelMoves`; none by default.
        keep_path: return the states at all times.
        ends: :data:`LEFT_END` or :data:`TRAPEZOIDAL`, which evaluates the last time too.
        hooks: called at every grid point that is evaluated.
        rule: what becomes of expected jumps: scaled to one where they exceed it, or
            :func:`~jumpbench.samplers.jumps.frozen`.

    Raises:
        ValueError: weights are NaN, since the flux or the target was.
    """
    x, mask = start_states(target, n_chains, generator), mask_of(target)
    path, integrands, cost, table = [x], [], Cost(), table_evaluations(target)
    n_steps = len(times) - 1
    for k in range(n_steps + (ends.right != 0)):
        t = times[k].expand(n_chains)
        field, slope = at_least_single(flux(x, t)), slope_of(target, x)
        for hook in hooks:
            hook(Point(k, t, x, field, slope))
        integrands.append(control_integrand(slope, t, field).double())
        cost += Cost(1, table, sequential_steps=k < n_steps)
        if k == n_steps:
            break
        x = euler_step(x, (times[k + 1] - times[k]) * field.relu(), generator, mask, rule)
        if moves is not None:
            x, moved = moves(target, x, times[k + 1], generator)
            cost += moved
        if keep_path:
            path.append(x)
    xi = torch.stack(integrands)
    log_weights = path_sum(xi, times, ends)
    require(log_weights.isnan().logical_not_(), "the flux or the target of a roll-out is NaN")
    states = torch.stack(path) if keep_path else x.unsqueeze(0)
    return Rollout(states, xi, log_weights, cost)


def path_sum(integrands: Tensor, times: Tensor, ends: Ends) -> Tensor:
    """sum_k dt_k (left xi_k + right xi_(k+1)), (B,) float64, of xi (K + 1, B).

    With :data:`LEFT_END` the last row may be missing.
    """
    dt = times.diff().double().unsqueeze(1)
    total = ends.left * (dt * integrands[: len(dt)]).sum(0)
    return total + ends.right * (dt * integrands[1:]).sum(0) if ends.right else total


def euler_step(
    x: Tensor,
    expected: Tensor,
    generator: torch.Generator,
    mask: Tensor | None = None,
    rule: Rule = renormalise,
) -> Tensor:
    """All sites at once: site i of x (B, D) becomes n with probability ``expected[i, n]``.

    A site whose total exceeds one jumps for certain; by the rule
    :func:`~jumpbench.samplers.jumps.frozen` a site jumps with probability 1 - exp(-total), in
    proportion to ``expected``. ``expected`` (B, D, N) is 0 at the current symbols, and overwritten.
    Sites outside ``mask`` (B, D) stay 0.
    """
    expected = expected.contiguous()
    u = torch.empty(x.shape, dtype=expected.dtype, device=x.device)
    x = leap(expected, x, fill_uniform_(u, generator), rule).after
    return x if mask is None else x * mask
