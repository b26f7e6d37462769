"""Annealed importance sampling (Neal 2001) and SMC samplers (Del Moral et al. 2006).

Particles go from the uniform law eta to the target rho along p_t ~ eta^{1-t} rho^t. At each of the
powers 0 = t_0 < .. < t_K = 1 a particle's log weight grows by (t_{k+1} - t_k) log (rho / eta), then
a Markov kernel that leaves the new law invariant moves it. E[exp(log weight)] = Z at powers that
are fixed beforehand, whatever the kernel mixes. SMC is the same with resampling where the effective
sample size of a system of particles falls below a bound; the weights of a resampled system all
become their mean, so that the mean weight stays unbiased.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.checks import require
from jumpbench.samplers.annealed_path import PathLaw, log_start, start_states
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.resampling import systematic, take
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp
from jumpbench.targets.base import DiscreteTarget

_BISECTIONS = 40


@dataclass(frozen=True)
class Annealed:
    """R systems of M particles at the end of the path.

    Attributes:
        x: (R, M, D).
        log_weights: (R, M) float64, E[exp] = Z.
        powers: (K + 1,) float64, from 0 to 1.
        resampled: (R,) how often each system was resampled.
        acceptance: mean over the kernel's steps.
        cost: of the last states, one sample per particle.
    """

    x: Tensor
    log_weights: Tensor
    powers: Tensor
    resampled: Tensor
    acceptance: Tensor
    cost: Cost

    def log_z(self) -> Tensor:
        """(R,) estimates of log Z, independent where the powers were given."""
        return log_mean_exp(self.log_weights)


@torch.no_grad()
def anneal(
    target: DiscreteTarget,
    kernel: Kernel,
    systems: int,
    particles: int,
    generator: torch.Generator,
    powers: Tensor | None = None,
    share: float = 0.9,
    steps: int = 1,
    resample_below: float | None = None,
) -> Annealed:
    """AIS, or SMC where ``resample_below`` is given.

    Args:
        target: a positive law.
        kernel: moves particles at every power.
        systems: R.
        particles: M of each system.
        powers: (K + 1,) from 0 to 1. Without them they are chosen on the way by
            :func:`next_power`, at one for all systems, which asks the device for a value at each.
        share: of the effective sample size that is kept from one chosen power to the next.
        steps: of the kernel at each power.
        resample_below: resample systematically a system whose effective sample size is below this
            share of M.

    Raises:
        UserError: powers that do not rise from 0 to 1, or a share outside (0, 1).
        ValueError: the target is not finite.
    """
    if powers is not None and ((powers[0] != 0) | (powers[-1] != 1) | (powers.diff() <= 0).any()):
        raise UserError("the powers of an annealing must rise from 0 to 1")
    if not 0 < share < 1:
        raise UserError(f"the share of the effective sample size must be in (0, 1), not {share}")
    n, device = systems * particles, generator.device
    x = start_states(target, n, generator)
    log_weights = torch.zeros(systems, particles, dtype=torch.float64, device=device)
    resampled = torch.zeros(systems, dtype=torch.long, device=device)
    itself = torch.arange(particles, device=device).expand(systems, particles)
    _, nothing = kernel(target, x[:1], 0, generator)  # what it asks for before its first step
    acceptance, sequential = torch.zeros((), device=device), 0
    evaluations = max(1.0, nothing.energy_evaluations)
    passed = [torch.zeros((), dtype=torch.float64, device=device)]
    while (len(passed) < len(powers)) if powers is not None else bool(passed[-1] < 1):
        gain = (target.log_prob(x).double() - log_start(target)).view(systems, particles)
        require(gain.isfinite(), "annealing needs log_prob to be finite")
        power = passed[-1]
        new = (
            next_power(gain, log_weights, power, share)
            if powers is None
            else powers[len(passed)].double().to(device)
        )
        log_weights = log_weights + (new - power) * gain
        passed.append(new)
        if resample_below is not None:
            low = effective_sample_size(log_weights) < resample_below
            resampled += low
            ancestors = torch.where(low[:, None], systematic(log_weights, generator), itself)
            x = take(x.view(systems, particles, -1), ancestors).flatten(0, 1)
            even = log_mean_exp(log_weights)[:, None].expand_as(log_weights)
            log_weights = torch.where(low[:, None], even, log_weights)
        x, info = kernel(PathLaw(target, new.float()), x, steps, generator)
        acceptance = acceptance + info.acceptance.mean()
        evaluations += info.energy_evaluations - nothing.energy_evaluations
        sequential += info.sequential_steps
    cost = Cost(energy_evaluations=evaluations, sequential_steps=sequential)
    path = torch.stack(passed)
    return Annealed(
        x.view(systems, particles, -1), log_weights, path, resampled,
        acceptance / (len(path) - 1), cost,
    )  # fmt: skip


def next_power(gain: Tensor, log_weights: Tensor, power: Tensor, share: float) -> Tensor:
    """The power at which the conditional effective sample size is ``share``, or 1; by bisection.

    With W the normalised weights of all particles and u = exp((t' - t) gain) it is
    (sum W u)^2 / sum W u^2 (Zhou et al. 2016): that of equal weights where all W are equal, so that
    it can be kept however uneven they are. ``gain`` = log (rho / eta), of the shape of the weights.
    """
    log_w = log_weights.flatten().log_softmax(0)
    gain = gain.flatten()

    def kept(step: Tensor) -> Tensor:
        first = (log_w + step * gain).logsumexp(0)
        return (2 * first - (log_w + 2 * step * gain).logsumexp(0)).exp()

    low, high = torch.zeros_like(power), 1 - power
    if kept(high) >= share:
        return torch.ones_like(power)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        enough = kept(middle) >= share
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return power + high


def refined(powers: Tensor, n_steps: int) -> Tensor:
    """``n_steps`` + 1 powers, as dense where the given ones (K + 1,) are: linear between them."""
    place = torch.linspace(0, len(powers) - 1, n_steps + 1, dtype=torch.float64)
    index = place.long().clamp(max=len(powers) - 2)
    given = powers.double().cpu()
    finer = given[index] + (place - index) * (given[index + 1] - given[index])
    finer[0], finer[-1] = 0.0, 1.0
    return finer
