"""Samples of an unnormalised law whose energies, modes and log Z are known exactly."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.evaluations.energy_classes import EnergyClasses, floor
from jumpbench.evaluations.own_numbers import OwnNumbersEvaluation, above, shares
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.lattice import dominating_symbols, symbol_fractions
from jumpbench.metrics.states import energies
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.basins import basins
from jumpbench.targets.boltzmann import SpinGlass
from jumpbench.targets.enumeration import LARGEST_BITS, enumerate_law
from jumpbench.targets.torus_rows import TorusRows

HEAVY = 0.01
"""Least exact weight of a mode that counts as one to be found."""


class ExactLaws:
    """The exact side of a comparison.

    Modes are, on a torus without field, the dominating symbol, on a glass that of the agreement
    with one ground state (ties are shared out); of any other law the basins of steepest ascent.

    Attributes:
        log_z: log Z.
        energy_law: (K,) of the classes of energies.
        of_energies: energies and weights (B,) to the mass (K,) of the classes.
        modes: states (B, D) to shares of M modes (B, M).
        mode_law: (M,).
        lowest: the lowest energy.

    Raises:
        UserError: neither a small torus nor at most 2^20 states.
    """

    modes: Callable[[Tensor], Tensor]

    def __init__(self, target: DiscreteTarget) -> None:
        rows = TorusRows.of(target)
        if rows is None:
            law = enumerate_law(target)
            every = energies(target, law.states)
            self.log_z, self.lowest = law.log_z, float(every.min())
            self._classes(every, law.probs)
            of_state, self.mode_law = basins(target, law)
            powers = target.n_states ** torch.arange(target.length - 1, -1, -1)
            size = len(self.mode_law)
            self.modes = lambda x: torch.nn.functional.one_hot(
                of_state[(x.long() * powers).sum(-1)], size
            ).double()
            return
        self.log_z, self.lowest = rows.log_z, rows.ground[0]
        seen = rows.counts > 0
        self._classes(rows.energies[seen], rows.bond_law[seen])
        n = target.n_states
        self.mode_law = torch.full((n,), 1 / n, dtype=torch.float64)
        ground = rows.ground_state() if isinstance(target, SpinGlass) else None

        def dominating(x: Tensor) -> Tensor:
            x = x if ground is None else (x == ground).long()
            return dominating_symbols(symbol_fractions(x, n))

        self.modes = dominating

    def _classes(self, energy: Tensor, probs: Tensor) -> None:
        classes = EnergyClasses(energy, probs)
        self.of_energies, self.energy_law = classes.of, classes.law


class ExactEvaluation(OwnNumbersEvaluation):
    """Judges samples (B, D), reweighted where the sampler gives weights.

    Results of :class:`~jumpbench.evaluations.own_numbers.OwnNumbersEvaluation`, and:

    - ``energy_tv``: total variation of the energy's law; ``mode_imbalance``: that of the modes'
      law. Both have a ``_floor``, what as many exact draws show on average, and a ``plain_`` form
      without weights;
    - ``modes_found``: share of the modes of exact weight 1 % or more that some sample is in;
    - ``best_gap``: lowest energy of a sample, less the lowest there is; ``ground_share``: share
      of the samples that have it;
    - of weights the absolute ``log_z_deviation`` from the exact value.

    Args:
        target: see :class:`ExactLaws`.

    Raises:
        UserError: likewise.
    """

    def __init__(self, target: DiscreteTarget) -> None:
        check_known(target)
        super().__init__(target)
        self._exact: ExactLaws | None = None

    @property
    def exact(self) -> ExactLaws:
        if self._exact is None:
            self._exact = ExactLaws(self.target)
        return self._exact

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        values = super().results()
        draws, energy = Draws.joined(self._batches), self._energies
        share = torch.full((len(draws),), 1 / len(draws), dtype=torch.float64)
        laws = {"": share}
        if draws.log_weights is not None:
            laws = {"": shares(draws), "plain_": share}
            values["log_z_deviation"] = abs(values["log_z"] - self.exact.log_z)
        modes = self.exact.modes(draws.samples)
        for prefix, law in laws.items():
            found = self.exact.of_energies(energy, law)
            values[f"{prefix}energy_tv"] = float(total_variation(found, self.exact.energy_law))
            drawn = law @ modes
            values[f"{prefix}mode_imbalance"] = float(total_variation(drawn, self.exact.mode_law))
        values["energy_tv_floor"] = floor(self.exact.energy_law, len(draws))
        values["mode_imbalance_floor"] = floor(self.exact.mode_law, len(draws))
        heavy = self.exact.mode_law >= HEAVY
        values["modes_found"] = float((modes.sum(0)[heavy] > 0).double().mean())
        return values | above(energy, self.exact.lowest)


def check_known(target: DiscreteTarget) -> None:
    """Raises what :class:`ExactLaws` would, before anything is trained."""
    if TorusRows.of(target) is None and target.length * math.log2(target.n_states) > LARGEST_BITS:
        raise UserError(
            f"{type(target).__name__} of {target.n_states}^{target.length} states has no exact "
            f"laws here: at most 2^{LARGEST_BITS} states, or a torus of at most 256 rows"
        )
