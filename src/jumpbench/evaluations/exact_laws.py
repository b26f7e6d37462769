"""Samples of an unnormalised law whose energies, modes and log Z are known exactly."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.lattice import dominating_symbols, symbol_fractions
from jumpbench.metrics.states import energies, energy_levels
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp, log_normaliser
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.basins import basins
from jumpbench.targets.boltzmann import SpinGlass
from jumpbench.targets.enumeration import LARGEST_BITS, enumerate_law
from jumpbench.targets.torus_rows import TorusRows

MOST_LEVELS = 128
BINS = 64
"""Bins of about equal exact mass where there are more than 128 energies."""
HEAVY = 0.01
"""Least exact weight of a mode that counts as one to be found."""


class ExactLaws:
    """The exact side of a comparison.

    Modes are, on a torus without field, the dominating symbol, on a glass that of the agreement
    with one ground state (ties are shared out); of any other law the basins of steepest ascent.

    Attributes:
        log_z: log Z.
        edges: (K - 1,) between the K classes of energies.
        energy_law: (K,).
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
        levels = energy_levels(energy)
        self.edges = (levels[1:] + levels[:-1]) / 2
        if len(levels) > MOST_LEVELS:
            ordered, index = energy.double().sort()
            wanted = torch.arange(1, BINS, dtype=torch.float64) / BINS
            place = torch.searchsorted(probs[index].cumsum(0), wanted)
            self.edges = ordered[place.clamp(max=len(ordered) - 1)].unique()
        self.energy_law = self.of_energies(energy, probs)

    def of_energies(self, energy: Tensor, weight: Tensor) -> Tensor:
        """Mass (K,) of the classes, of energies (B,) with weights (B,)."""
        index = torch.bucketize(energy.double().contiguous(), self.edges)
        law = torch.zeros(len(self.edges) + 1, dtype=torch.float64)
        return law.index_add_(0, index, weight.double())


class ExactEvaluation(Evaluation):
    """Judges samples (B, D), reweighted where the sampler gives weights.

    Results:

    - ``energy_tv``: total variation of the energy's law; ``mode_imbalance``: that of the modes'
      law. Both have a ``_floor``, what as many exact draws show on average, and a ``plain_`` form
      without weights;
    - ``modes_found``: share of the modes of exact weight 1 % or more that some sample is in;
    - ``best_gap``: lowest energy of a sample, less the lowest there is; ``ground_share``: share
      of the samples that have it;
    - of weights ``ess``, ``log_z``, its standard error ``log_z_error``, and the absolute
      ``log_z_deviation`` from the exact value. Samples with the extra ``system`` have a common
      estimate of log Z each system, and the error is that over systems;
    - ``effective_samples`` = n ess / tau and ``effective_per_second``: by the seconds of drawing,
      or those that the extra ``draw_seconds`` says; ``setup_seconds``: what is left of them, the
      burn-in or pilot;
    - means of the other extras.

    Args:
        target: see :class:`ExactLaws`.

    Raises:
        UserError: likewise.
    """

    def __init__(self, target: DiscreteTarget) -> None:
        check_known(target)
        self.target = target
        self._exact: ExactLaws | None = None
        self.reset()

    @property
    def exact(self) -> ExactLaws:
        if self._exact is None:
            self._exact = ExactLaws(self.target)
        return self._exact

    def reset(self) -> None:
        self._batches: list[Draws] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._batches.append(draws)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        draws = Draws.joined(self._batches)
        extras = {k: v.double() for k, v in draws.extras.items() if v.dim() == 1}
        values = {k: float(v.mean()) for k, v in extras.items() if k != "system"}
        share = torch.full((len(draws),), 1 / len(draws), dtype=torch.float64)
        laws = {"": share}
        effective = float(len(draws)) / max(values.get("tau", 1.0), 1.0)
        if draws.log_weights is not None:
            weights = draws.log_weights.double()
            laws = {"": weights.softmax(0), "plain_": share}
            values |= self._of_weights(weights, extras.get("system"))
            effective *= values["ess"]
        energy, modes = energies(self.target, draws.samples), self.exact.modes(draws.samples)
        for prefix, law in laws.items():
            found = self.exact.of_energies(energy, law)
            values[f"{prefix}energy_tv"] = float(total_variation(found, self.exact.energy_law))
            drawn = law @ modes
            values[f"{prefix}mode_imbalance"] = float(total_variation(drawn, self.exact.mode_law))
        values["energy_tv_floor"] = floor(self.exact.energy_law, len(draws))
        values["mode_imbalance_floor"] = floor(self.exact.mode_law, len(draws))
        heavy = self.exact.mode_law >= HEAVY
        values["modes_found"] = float((modes.sum(0)[heavy] > 0).double().mean())
        gap = energy - self.exact.lowest
        tolerance = 1e-4 * max(1.0, abs(self.exact.lowest))
        values["best_gap"] = float(gap.min()) if gap.min() > tolerance else 0.0
        values["ground_share"] = float((gap <= tolerance).double().mean())
        seconds = sum(
            float(batch.extras["draw_seconds"][0])
            if "draw_seconds" in batch.extras
            else batch.cost.seconds
            for batch in self._batches
        )
        values["setup_seconds"] = sum(batch.cost.seconds for batch in self._batches) - seconds
        values["effective_samples"] = effective
        values["effective_per_second"] = effective / max(seconds, 1e-9)
        return values

    def _of_weights(self, weights: Tensor, system: Tensor | None) -> dict[str, float]:
        estimates = weights
        if system is not None:
            estimates = torch.stack([log_mean_exp(weights[system == s]) for s in system.unique()])
        log_z, error = (float(value) for value in log_normaliser(estimates))
        return {
            "ess": float(effective_sample_size(weights)),
            "log_z": log_z,
            "log_z_error": error,
            "log_z_deviation": abs(log_z - self.exact.log_z),
        }

    def artifacts(self) -> dict[str, Any]:
        return {"energies": torch.cat([energies(self.target, b.samples) for b in self._batches])}


def floor(law: Tensor, n: int) -> float:
    """Mean total variation of n exact draws' histogram: E|X / n - p| over cells, X binomial, by
    its normal approximation and never above the 2 p of a cell that is mostly empty."""
    spread = (2 / math.pi * law * (1 - law) / n).clamp(min=0).sqrt()
    return 0.5 * float(torch.minimum(spread, 2 * law).sum())


def check_known(target: DiscreteTarget) -> None:
    """Raises what :class:`ExactLaws` would, before anything is trained."""
    if TorusRows.of(target) is None and target.length * math.log2(target.n_states) > LARGEST_BITS:
        raise UserError(
            f"{type(target).__name__} of {target.n_states}^{target.length} states has no exact "
            "laws here: at most 2^{LARGEST_BITS} states, or a torus of at most 256 rows"
        )
