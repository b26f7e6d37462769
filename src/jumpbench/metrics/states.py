"""How far samples of any law of symbols are from true ones, and how far chance would be."""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.metrics.wasserstein import wasserstein2
from jumpbench.seeding import make_generator
from jumpbench.targets.base import DiscreteTarget, check_states

_CHUNK = 1024


def energies(target: DiscreteTarget, x: Tensor) -> Tensor:
    """``target.energy``, or minus ``log_prob`` where there is none; (B, D) -> (B,) float64."""
    energy = getattr(target, "energy", None) or (lambda part: -target.log_prob(part))
    return torch.cat([energy(part.long()).double() for part in x.split(_CHUNK)])


@dataclass(frozen=True)
class _States:
    """What is compared of each state: energies (B,), and symbols as they are (B, D)."""

    energy: Tensor
    symbols: Tensor

    def __getitem__(self, index: Tensor) -> "_States":
        return _States(self.energy[index], self.symbols[index])


def state_metrics(
    target: DiscreteTarget, samples: Tensor, ground_truth: Tensor, replicates: int = 32
) -> dict[str, float]:
    """Errors of ``samples`` (B, D) against ``ground_truth`` (B', D), each with its noise floor.

    - ``energy_w2``: Wasserstein-2 distance of the laws of the energy;
    - ``energy_error``: |difference of the mean energies|;
    - ``marginal_error``: total variation of a site's law of symbols, mean over the sites;
    - ``NAME_floor``: what perfect samples show on average, by a two-sample bootstrap of
      ``replicates`` pairs of sets of B and B' states of the ground truth.

    Raises:
        UserError: an empty set, or states that are not the target's.
    """
    sets = []
    for x in (samples, ground_truth):
        if len(x) == 0:
            raise UserError("metrics need at least one state")
        check_states(target, x)
        sets.append(_States(energies(target, x), x))

    def errors(a: _States, b: _States) -> dict[str, Tensor]:
        shares = [
            torch.stack([(s.symbols == n).double().mean(0) for n in range(target.n_states)])
            for s in (a, b)
        ]
        return {
            "energy_w2": wasserstein2(a.energy, b.energy),
            "energy_error": (a.energy.mean() - b.energy.mean()).abs(),
            "marginal_error": (shares[0] - shares[1]).abs().sum(0).mean() / 2,
        }

    ours, truth = sets
    values = {name: float(value) for name, value in errors(ours, truth).items()}
    floors = dict.fromkeys(values, 0.0)
    generator = make_generator(0, "state floors")
    for _ in range(replicates):
        a, b = (
            truth[torch.randint(len(ground_truth), (n,), generator=generator)]
            for n in (len(samples), len(ground_truth))
        )
        for name, value in errors(a, b).items():
            floors[name] += float(value) / replicates
    return values | {f"{name}_floor": value for name, value in floors.items()}


def energy_levels(energy: Tensor) -> Tensor:
    """Distinct energies (K,), rounded to 1e-4, in ascending order."""
    return torch.unique((energy.double() * 1e4).round() / 1e4)


def energy_law(energy: Tensor, weight: Tensor, levels: Tensor) -> Tensor:
    """Mass (K,) of every level of ``levels``, from energies (S,) with weights (S,).

    Energies off all levels belong to the nearest.
    """
    middle = (levels[1:] + levels[:-1]) / 2
    index = torch.bucketize(energy.double().contiguous(), middle)
    return torch.zeros_like(levels).index_add_(0, index, weight.double())


def energy_laws(
    energy: Tensor, weight: Tensor, every: Tensor, probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Laws of the energy on the levels of an enumerated target: of weighted states, and exact.

    Their total variation is the metric ``energy_tv``.

    Args:
        energy: (B,), of the states.
        weight: (B,), of the states; the first law has their sum as its mass.
        every: (S,), energies of all states of the target.
        probs: (S,), its law.

    Returns:
        (K,) and (K,), float64.
    """
    levels = energy_levels(every)
    return energy_law(energy, weight, levels), energy_law(every, probs, levels)
