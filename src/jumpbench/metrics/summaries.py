"""Few numbers of a state by which samplers are called slow or quick to mix."""

import torch
from torch import Tensor

from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.boltzmann import SpinGlass


def summaries(target: DiscreteTarget, x: Tensor) -> Tensor:
    """Energy, share of the majority and of symbol 0 of states (..., D); (3, ...) float64.

    A glass has no majority, and its magnetisation says nothing of its modes: there the symbols are
    agreement and disagreement with the first of the states of lowest energy.
    """
    energy = (getattr(target, "energy", None) or (lambda y: -target.log_prob(y)))(x).double()
    if isinstance(target, SpinGlass):
        lowest = x.flatten(0, -2)[energy.argmin()]
        x = (x != lowest).to(torch.uint8)
    shares = torch.stack([(x == n).double().mean(-1) for n in range(target.n_states)])
    return torch.stack((energy, shares.amax(0), shares[0]))


def effective_of_systems(values: Tensor, share: Tensor, system: Tensor) -> float:
    """How many independent samples the weighted means of interacting particles are worth.

    min over the rows f of ``values`` of var(f) / v(f), with the variance of f by the weights and

        v(f) = S / (S - 1) sum_s W_s^2 (f_s - mean f)^2

    that of its mean, from S independent systems of weights W_s and means f_s: resampled particles
    share ancestors, which their weights do not show. At most the number of particles, which also
    counts where no summary varies.

    Args:
        values: (K, B).
        share: what each particle counts, (B,) of sum 1.
        system: its system (B,).

    Raises:
        ValueError: fewer than two systems.
    """
    _, index = system.unique(return_inverse=True)
    count = int(index.max()) + 1
    if count < 2:
        raise ValueError("the spread between systems needs two of them")
    mean = values @ share
    deviation = values - mean[:, None]
    sums = torch.zeros(len(values), count, dtype=torch.float64)
    sums.index_add_(1, index, deviation * share)  # W_s (f_s - mean f)
    of_mean = count / (count - 1) * sums.square().sum(1)
    ratios = (deviation.square() @ share)[of_mean > 0] / of_mean[of_mean > 0]
    return min([float(len(share)), *ratios.tolist()])
