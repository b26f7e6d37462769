"""Exact law, weights and bounds of a flow sampler on a small state space, without sampling."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.metrics.histogram import total_variation
from jumpbench.samplers.annealed_path import control_integrand, flux_of, slope_of
from jumpbench.samplers.jumps import jump_law, renormalise
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import all_states, enumerate_law

MOST_STATES = 4096


@dataclass(frozen=True)
class SamplerLaw:
    """What 2^D times K^D trajectories would show on average.

    Attributes:
        law: of the trajectories' ends, (S,) float64, on the device of the times.
        mean_log_weight, left_mean_log_weight: E[w], the lower bounds of log Z.
        log_z, left_log_z: log E[exp w].
        ess: E[exp w]^2 / E[exp 2w], of trapezoidal weights.
    """

    law: Tensor
    mean_log_weight: float
    left_mean_log_weight: float
    log_z: float
    left_log_z: float
    ess: float


def euler_matrix(states: Tensor, expected: Tensor) -> Tensor:
    """Transition matrix (S, S), row = from, of one Euler step with all sites at once.

    ``expected`` (S, D, N): rates times the step, 0 at the current symbols.
    """
    return matrix_of(jump_law(expected, states, renormalise)[0])


def matrix_of(site: Tensor) -> Tensor:
    """(S, S), row = from, of independent sites with the laws ``site`` (S, D, N)."""
    matrix = site[:, 0]
    for d in range(1, site.shape[1]):
        matrix = (matrix.unsqueeze(-1) * site[:, d].unsqueeze(1)).flatten(1)
    return matrix


def check_countable(target: DiscreteTarget) -> None:
    """Raises UserError where there are more than 4096 states."""
    if target.n_states**target.length > MOST_STATES:
        raise UserError(
            f"{target.n_states}^{target.length} states are too many for an exact law of the "
            f"sampler (at most {MOST_STATES}): compare samples instead"
        )


@torch.no_grad()
def sampler_law(network: nn.Module, target: DiscreteTarget, times: Tensor) -> SamplerLaw:
    """Propagates the law, and the law times functionals of the weights, through every step.

    Raises:
        UserError: more than 4096 states.
    """
    check_countable(target)
    states = all_states(target.length, target.n_states).long().to(times.device)
    slope = slope_of(target, states)
    count = len(states)
    law = torch.full((count,), 1 / count, dtype=torch.float64, device=times.device)
    parts = {name: law.clone() for name in ("trapezoid", "square", "left")}
    mean, left_mean = 0.0, 0.0
    for k, time in enumerate(times):
        t = time.expand(count)
        flux = flux_of(network, target, states, t)
        xi = control_integrand(slope, t, flux).double()
        before = float(time - times[k - 1]) if k else 0.0
        after = float(times[k + 1] - time) if k + 1 < len(times) else 0.0
        mean += (before + after) / 2 * float(law @ xi)
        left_mean += after * float(law @ xi)
        parts["trapezoid"] *= ((before + after) / 2 * xi).exp()
        parts["square"] *= ((before + after) * xi).exp()
        parts["left"] *= (after * xi).exp()
        if after:
            matrix = euler_matrix(states, after * flux.relu().double())
            law = law @ matrix
            parts = {name: part @ matrix for name, part in parts.items()}
    total = {name: part.sum().log() for name, part in parts.items()}
    return SamplerLaw(
        law, mean, left_mean, float(total["trapezoid"]), float(total["left"]),
        float((2 * total["trapezoid"] - total["square"]).exp()),
    )  # fmt: skip


class ExactLaw:
    """A probe: how far the sampler's exact law and weights are from the target's.

    ``tv``: total variation of the law of the ends; ``log_z_bias`` and ``left_log_z_bias``:
    log E[exp w] - log Z; ``log_z_gap``: log Z - E[w] >= 0 but for O(dt^2); ``exact_ess``.
    """

    def __call__(
        self, network: nn.Module, target: DiscreteTarget, times: Tensor
    ) -> dict[str, float]:
        truth = enumerate_law(target, times.device)
        law = sampler_law(network, target, times)
        return {
            "tv": float(total_variation(law.law.cpu(), truth.probs)),
            "log_z_bias": abs(law.log_z - truth.log_z),
            "left_log_z_bias": abs(law.left_log_z - truth.log_z),
            "log_z_gap": truth.log_z - law.mean_log_weight,
            "left_log_z_gap": truth.log_z - law.left_mean_log_weight,
            "exact_ess": law.ess,
        }
