"""What is measured of the controller while it trains: at stage ends, or every so many steps.

A probe is called with the method and returns numbers; it may simulate with the generator it is
given, which is not the one that training uses.
"""

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from jumpbench.methods.dasbs import exact
from jumpbench.methods.dasbs.evaluation import summary
from jumpbench.targets.enumeration import enumerate_law

if TYPE_CHECKING:
    from jumpbench.methods.dasbs.module import DASBS


class Probe(Protocol):
    def __call__(self, method: "DASBS", generator: torch.Generator) -> dict[str, Tensor]: ...


class ExactLaw:
    """``tv`` and ``energy_tv``: total variation of the sampler's own law, and of its energies.

    For at most 4096 states; no sampling error.
    """

    def __call__(self, method: "DASBS", generator: torch.Generator) -> dict[str, Tensor]:
        target = method.target
        truth, start = enumerate_law(target), enumerate_law(method.source).probs
        states = truth.states.long().to(method.device)
        truth, start = truth.probs.to(method.device), start.to(method.device)
        law = exact.sampler_law(method.log_control, start, states, method.grid)
        energy = target.energy(states)
        levels = exact.energy_levels(energy)
        laws = (exact.energy_law(energy, p, levels) for p in (law, truth))
        return {"tv": exact.total_variation(law, truth), "energy_tv": exact.total_variation(*laws)}


class EnergyLaw:
    """``energy_tv`` and ``energy_per_site``: law of the energies of samples against the exact one.

    For at most 2^20 states. With n samples and K levels a perfect sampler still shows
    about sqrt(K / (2 pi n)).
    """

    def __init__(self, n_samples: int = 4096) -> None:
        self.n_samples = n_samples

    def __call__(self, method: "DASBS", generator: torch.Generator) -> dict[str, Tensor]:
        target = method.target
        truth = enumerate_law(target)
        energy = target.energy(truth.states)
        levels = exact.energy_levels(energy)
        drawn = target.energy(method.sample(self.n_samples, generator).end).cpu()
        weight = torch.full_like(drawn, 1 / len(drawn))
        laws = (
            exact.energy_law(drawn, weight, levels),
            exact.energy_law(energy, truth.probs, levels),
        )
        return {
            "energy_tv": exact.total_variation(*laws),
            "energy_per_site": drawn.mean() / target.length,
        }


class Quality:
    """The metrics of the test stage, of ``n_samples`` chains."""

    def __init__(self, n_samples: int = 1024) -> None:
        self.n_samples = n_samples

    def __call__(self, method: "DASBS", generator: torch.Generator) -> dict[str, Tensor]:
        paths = method.sample(self.n_samples, generator, path_weights=method.memoryless)
        return summary(method.target, paths, method.memoryless, method.ground_truth)
