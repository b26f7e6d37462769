"""Exact law and weights of the discrete-time chain on a small state space, without sampling."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumpbench.methods.dnfs.chain_weights import CORRECTOR, both_ways, check_corrector
from jumpbench.methods.dnfs.exact import check_countable, matrix_of
from jumpbench.metrics.histogram import total_variation
from jumpbench.samplers.annealed_path import flux_of, log_start, mask_of, slope_of
from jumpbench.samplers.jumps import frozen, jump_law
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import all_states, enumerate_law


@dataclass(frozen=True)
class ChainLaw:
    """What all paths of :func:`~jumpbench.methods.dnfs.chain_weights.weighted_chains` would show.

    Attributes:
        law: of the ends, (S,) float64, on the device of the times.
        log_z: log E[w].
        ess: E[w]^2 / E[w^2].
    """

    law: Tensor
    log_z: float
    ess: float


@torch.no_grad()
def chain_law(
    network: nn.Module, target: DiscreteTarget, times: Tensor, corrector: float = CORRECTOR
) -> ChainLaw:
    """Propagates the law of the chain, and sums w and w^2 over all paths, step by step.

    A step multiplies the sum over paths of eta w^m, for every end x, by B^m F^(1 - m): the terms
    with F = 0 are left out, as no path takes them.

    Raises:
        UserError: more than 4096 states, or a corrector that is not positive.
    """
    check_countable(target)
    check_corrector(corrector)
    states = all_states(target.length, target.n_states).long().to(times.device)
    count, slope, mask = len(states), slope_of(target, states), mask_of(target)
    start = float(torch.as_tensor(log_start(target)))

    def rates(time: Tensor) -> tuple[Tensor, Tensor]:
        flux = flux_of(network, target, states, time.expand(count))
        return both_ways(flux, time * slope.ratios, states, mask, corrector)

    def matrix(rate: Tensor, step: Tensor) -> Tensor:
        return matrix_of(jump_law(step * rate, states, frozen)[0])

    law = torch.full((count,), start, dtype=torch.float64, device=times.device).exp()
    first, second = law / law, 1 / law
    ahead, _ = rates(times[0])
    for k, step in enumerate(times.diff()):
        forward = matrix(ahead, step)
        ahead, back = rates(times[k + 1])
        backward = torch.where(forward > 0, matrix(back, step).T, 0.0)
        law, first = law @ forward, first @ backward
        second = second @ (backward.square() / forward).nan_to_num(nan=0.0)
    log_rho = slope.log_prob.double()
    log_z = float((first.log() + log_rho).logsumexp(0))
    square = float((second.log() + 2 * log_rho).logsumexp(0))
    return ChainLaw(law, log_z, math.exp(2 * log_z - square))


class ExactChainWeights:
    """A probe: ``chain_tv`` of the ends, ``chain_log_z_bias`` (0 but for rounding), ``chain_ess``.

    Args:
        corrector: of :func:`~jumpbench.methods.dnfs.chain_weights.weighted_chains`.
    """

    def __init__(self, corrector: float = CORRECTOR) -> None:
        self.corrector = corrector

    def __call__(
        self, network: nn.Module, target: DiscreteTarget, times: Tensor
    ) -> dict[str, float]:
        truth = enumerate_law(target, times.device)
        chain = chain_law(network, target, times, self.corrector)
        return {
            "chain_tv": float(total_variation(chain.law.cpu(), truth.probs)),
            "chain_log_z_bias": abs(chain.log_z - truth.log_z),
            "chain_ess": chain.ess,
        }
