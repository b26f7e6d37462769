"""Judging samples of an unnormalised law: lattice models, or any other target."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.energy_classes import floor
from jumpbench.evaluations.weights import SYSTEM, joined, of_weights
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.metrics.states import energies, energy_laws, state_metrics
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import IsingTorus, ising_torus
from jumpbench.targets.lattice import is_lattice


class TargetEvaluation(Evaluation):
    """Judges samples (B, D) of a target, without reweighting them.

    Results:

    - of log-weights: ``ess`` = (mean w)^2 / mean w^2, ``log_z`` = log mean w and its standard error
      ``log_z_error``;
    - of extras (B,): their means by name (``jumps_per_site``, ``tau``);
    - with true samples: :func:`~jumpbench.metrics.lattice.lattice_metrics` of an Ising or Potts
      model, :func:`~jumpbench.metrics.states.state_metrics` of any other target;
    - of an Ising torus without field: ``exact_energy_error``, |mean energy - Kaufman's value| per
      site, and ``exact_energy_error_floor``, its mean for as many perfect samples; of log-weights
      also ``log_z_minus_exact``: about -log k of a sampler that has one of k equal modes, since
      weights of states that it never draws are never seen;
    - with ``exact_energies``: ``energy_per_site``, and ``energy_tv``, the total variation of the
      energies' law from the enumerated one, with its mean for as many perfect samples,
      ``energy_tv_floor``.

    Args:
        target: the law; evaluated on the CPU.
        ground_truth: true samples (B', D), or the folder of a run whose artifacts hold ``samples``.
        exact_energies: enumerate the target (at most 2^20 states).
        replicates: bootstrap replicates behind the floors.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        ground_truth: str | Tensor | None = None,
        exact_energies: bool = False,
        replicates: int = 32,
    ) -> None:
        self.target = target
        self.ground_truth = ground_truth
        self.exact_energies = exact_energies
        self.replicates = replicates
        self.reset()

    def reset(self) -> None:
        self._batches: list[Draws] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._batches.append(draws)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        draws = joined(self._batches)
        values = {
            name: float(value.double().mean())
            for name, value in draws.extras.items()
            if value.dim() == 1 and name != SYSTEM
        }
        if draws.log_weights is not None:
            values |= of_weights(draws.log_weights, draws.extras.get(SYSTEM))
        exact = self._kaufman()
        truth = self._truth()
        if truth is not None:
            metrics: Callable[..., dict[str, float]] = (
                lattice_metrics if is_lattice(self.target) else state_metrics
            )
            values |= metrics(self.target, draws.samples, truth, replicates=self.replicates)
        if exact is not None:
            values |= self._against_kaufman(draws.samples, exact)
            if "log_z" in values:
                values["log_z_minus_exact"] = values["log_z"] - exact.log_z
        if self.exact_energies:
            values |= self._against_enumeration(draws.samples)
        return values

    def _truth(self) -> Tensor | None:
        if not isinstance(self.ground_truth, str | Path):
            return self.ground_truth
        return load_artifacts(self.ground_truth)["samples"]

    def _kaufman(self) -> IsingTorus | None:
        """Exact thermodynamics of an Ising torus without field; None of any other target."""
        target = self.target
        if (
            not isinstance(target, Ising)
            or target.external_field
            or target.beta * target.coupling <= 0
        ):
            return None
        with torch.inference_mode(False), torch.enable_grad():  # energies are derivatives of log Z
            return ising_torus(target.size, target.beta, target.coupling)

    def _against_kaufman(self, x: Tensor, exact: IsingTorus) -> dict[str, float]:
        length = self.target.length
        error = abs(float(energies(self.target, x).mean()) - exact.mean_energy) / length
        perfect = exact.std_energy * (2 / (torch.pi * len(x))) ** 0.5 / length
        return {"exact_energy_error": error, "exact_energy_error_floor": perfect}

    def _against_enumeration(self, x: Tensor) -> dict[str, float]:
        law, energy = enumerate_law(self.target), energies(self.target, x)
        every, share = energies(self.target, law.states), torch.full_like(energy, 1 / len(energy))
        laws = energy_laws(energy, share, every, law.probs)
        return {
            "energy_tv": float(total_variation(*laws)),
            "energy_tv_floor": floor(laws[1], len(x)),
            "energy_per_site": float(energy.mean()) / self.target.length,
        }
