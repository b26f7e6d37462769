"""What is measured of a sampler while it trains: at stage ends, or every so many steps.

A probe is called with the method and a generator, which is not the one that training uses, and
returns numbers. Its moment decides when, and under which number its curve is kept.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch

from jumpbench.errors import UserError
from jumpbench.methods.common.judged import Judged
from jumpbench.methods.dasbs.stages import Place
from jumpbench.methods.dasbs.tau_leaping_law import sampler_law
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.lattice import dominating_symbols, mode_imbalance, symbol_fractions
from jumpbench.metrics.states import energy_laws
from jumpbench.samplers.draws import Draws
from jumpbench.targets.enumeration import enumerate_law


class Probe(Protocol):
    def __call__(self, method: Any, generator: torch.Generator) -> dict[str, float]: ...


class Moment(Protocol):
    """A probe with its time.

    Attributes:
        probe: what is measured.
        when_tested: whether it is measured once more in the test stage, under its plain names.
    """

    probe: Probe
    when_tested: bool

    def point(self, step: int, place: Place) -> int | None:
        """The number of this point of the curve, after gradient step ``step``; None: not now."""
        ...


@dataclass(frozen=True)
class AtStageEnds:
    """After every controller phase, as ``NAME@STAGE``, and when tested."""

    probe: Probe
    when_tested: bool = True

    def point(self, step: int, place: Place) -> int | None:
        return place.stage if place.is_last and not place.in_corrector_phase else None


@dataclass(frozen=True)
class Every:
    """Every ``steps`` gradient steps, as ``NAME@STEP``."""

    steps: int
    probe: Probe
    when_tested: bool = False

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"a probe every {self.steps} steps; it must be at least 1")

    def point(self, step: int, place: Place) -> int | None:
        return step + 1 if (step + 1) % self.steps == 0 else None


class ExactTotalVariation:
    """``tv`` and ``energy_tv``: total variation of the sampler's own law, and of its energies.

    For at most 4096 states; no sampling error.
    """

    def __call__(self, method: Any, generator: torch.Generator) -> dict[str, float]:
        target = method.target
        enumerated = enumerate_law(target)
        states = enumerated.states.long().to(method.device)
        truth = enumerated.probs.to(method.device)
        start = enumerate_law(method.source).probs.to(method.device)
        law = sampler_law(method.log_control, start, states, method.grid)
        energy = target.energy(states)
        laws = energy_laws(energy, law, energy, truth)
        values = {"tv": total_variation(law, truth), "energy_tv": total_variation(*laws)}
        return {name: float(value) for name, value in values.items()}


class ModeBalance:
    """``mode_imbalance`` of ``n_samples`` samples, and ``mode_persistence`` of constant starts.

    Whether a sampler has lost a mode (0 is balanced, 1 - 1/N is one mode of N), at a fraction of
    the cost of :class:`Quality`.
    """

    def __init__(self, n_samples: int = 1024) -> None:
        self.n_samples = n_samples

    def __call__(self, method: Any, generator: torch.Generator) -> dict[str, float]:
        draws = method.sample(self.n_samples, generator)
        fractions = symbol_fractions(draws.samples, method.target.n_states)
        imbalance = float(mode_imbalance(dominating_symbols(fractions)))
        values = {"mode_imbalance": imbalance, "n_samples": float(self.n_samples)}
        if (persistence := draws.extras.get("mode_persistence")) is not None:
            values["mode_persistence"] = float(persistence.mean())
        return values


class Quality:
    """What the method's evaluation says of ``n_samples`` samples."""

    def __init__(self, n_samples: int = 1024) -> None:
        self.n_samples = n_samples

    def __call__(self, method: Any, generator: torch.Generator) -> dict[str, float]:
        judged = Judged(method.evaluation, keep_samples=False)
        judged.update(Draws.restored(method.sample(self.n_samples, generator).plain()), {})
        return judged.results()
