"""What samples of an unnormalised law say of themselves, whatever is known of it."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.energy_classes import EnergyClasses
from jumpbench.evaluations.weights import SYSTEM, joined, of_weights
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.states import energies
from jumpbench.metrics.summaries import effective_of_systems, summaries
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget


class OwnNumbersEvaluation(Evaluation):
    """Numbers of samples (B, D) that need no other samples.

    Results:

    - ``mean_energy``, reweighted where the sampler gives weights, its standard error
      ``mean_energy_error``, sd / sqrt(effective samples), and ``lowest_energy``;
    - ``halves_tv``: total variation between the energy's laws of the first half of the samples
      and of the second. Chains come one after the other, so the halves are of other chains;
    - of weights ``ess``, ``log_z`` and its standard error ``log_z_error``. Samples with the extra
      ``system`` have a common estimate of log Z each system, and the error is that over systems;
    - ``effective_samples`` = n ess / tau, of systems by the spread between them
      (:func:`~jumpbench.metrics.summaries.effective_of_systems`), and ``effective_per_second``: by
      the seconds of drawing, or those that the extra ``draw_seconds`` says; ``setup_seconds``:
      what is left of them, the burn-in or pilot;
    - means of the other extras.

    Artifacts: ``energies`` (B,), and the results with the mean cost of a sample as ``values``.

    Args:
        target: the law, evaluated on the CPU.
    """

    def __init__(self, target: DiscreteTarget) -> None:
        self.target = target
        self.reset()

    def reset(self) -> None:
        self._batches: list[Draws] = []
        self._values: dict[str, float] = {}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._batches.append(draws)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        draws = joined(self._batches)
        share = shares(draws)
        extras = {k: v.double() for k, v in draws.extras.items() if v.dim() == 1}
        values = {k: float(v.mean()) for k, v in extras.items() if k != SYSTEM}
        effective = float(len(draws)) / max(values.get("tau", 1.0), 1.0)
        if draws.log_weights is not None:
            values |= of_weights(draws.log_weights, extras.get(SYSTEM))
            effective *= values["ess"]
            if (system := extras.get(SYSTEM)) is not None and len(system.unique()) > 1:
                of_states = summaries(self.target, draws.samples)
                effective = effective_of_systems(of_states, share, system)
        energy = self._energies = energies(self.target, draws.samples)
        mean = share @ energy
        spread = (share @ (energy - mean).square()).sqrt()
        seconds = sum(
            float(batch.extras["draw_seconds"][0])
            if "draw_seconds" in batch.extras
            else batch.cost.seconds
            for batch in self._batches
        )
        values |= {
            "setup_seconds": sum(batch.cost.seconds for batch in self._batches) - seconds,
            "mean_energy": float(mean),
            "mean_energy_error": float(spread) / max(effective, 1.0) ** 0.5,
            "lowest_energy": float(energy.min()),
            "halves_tv": halves_tv(energy, share),
            "effective_samples": effective,
            "effective_per_second": effective / max(seconds, 1e-9),
        }
        names = ("energy_evaluations", "network_evaluations")
        self._values = values | {name: getattr(draws.cost, name) for name in names}
        return values

    def artifacts(self) -> dict[str, Any]:
        return {"energies": self._energies, "values": dict(self._values)}


def shares(draws: Draws) -> Tensor:
    """What every sample counts, (B,) float64 of sum 1."""
    if draws.log_weights is not None:
        return draws.log_weights.double().softmax(0)
    return torch.full((len(draws),), 1 / len(draws), dtype=torch.float64)


def above(energy: Tensor, lowest: float) -> dict[str, float]:
    """``best_gap``: the lowest energy of samples (B,), less the lowest there is; ``ground_share``:
    share of the samples that have it."""
    gap, tolerance = energy - lowest, 1e-4 * max(1.0, abs(lowest))
    return {
        "best_gap": float(gap.min()) if gap.min() > tolerance else 0.0,
        "ground_share": float((gap <= tolerance).double().mean()),
    }


def halves_tv(energy: Tensor, share: Tensor) -> float:
    """Total variation between the energy's laws of both halves of samples (B,), 1 where a half
    has no weight."""
    half, classes = len(energy) // 2, EnergyClasses(energy, share)
    laws = []
    for part in (slice(half), slice(half, 2 * half)):
        law = classes.of(energy[part], share[part])
        if not law.sum() > 0:
            return 1.0
        laws.append(law / law.sum())
    return float(total_variation(*laws))
