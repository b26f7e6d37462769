"""Samples of a posterior on a grid, against the exact law of their first two sites."""

from typing import Any, Protocol

import torch
from torch import Tensor

from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.metrics.histogram import hellinger, pair_counts, sampling_floor, total_variation
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator

DISTANCES = {"hellinger": hellinger, "tv": total_variation}


class KnownPair(Protocol):
    """A posterior whose two first sites have a known law."""

    def marginal(self) -> Tensor:
        """Exact posterior law of the first two sites, (N, N)."""
        ...

    def prior_marginal(self) -> Tensor:
        """Their law before the measurement, (N, N)."""
        ...


class GridEvaluation(ExtrasEvaluation):
    """Distances of the histogram of sites 1 and 2 from the truth.

    Results: ``hellinger`` and ``tv``; what a perfect sampler scores at the same number of samples
    (``hellinger_floor``, ``tv_floor``, with ``_std``); ``prior_hellinger``, the distance from the
    prior; means of the samplers' extras. Artifacts: the laws ``sampled`` and ``truth``.

    Args:
        target: knows the law of the pair.
        floor_replicates: histograms of exact draws behind the floor.
    """

    def __init__(self, target: KnownPair, floor_replicates: int = 64, seed: int = 0) -> None:
        self.truth, self.prior = target.marginal(), target.prior_marginal()
        self.floor_replicates, self.seed = floor_replicates, seed
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.counts = torch.zeros_like(self.truth, dtype=torch.long)

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.counts += pair_counts(draws.samples, len(self.truth))
        super().update(draws, reference)

    def sampled(self) -> Tensor:
        """Empirical law (N, N) of the two sites, float64."""
        return self.counts.double() / self.counts.sum()

    def results(self) -> dict[str, float]:
        law, n_samples = self.sampled(), int(self.counts.sum())
        values = super().results()
        for name, distance in DISTANCES.items():
            values[name] = float(distance(law, self.truth))
            generator = make_generator(self.seed, "floor")
            mean, std = sampling_floor(
                distance, self.truth, n_samples, self.floor_replicates, generator
            )
            values |= {f"{name}_floor": float(mean), f"{name}_floor_std": float(std)}
        # Samplers that fail fall back on the prior, so how far they got from it says how they fail.
        values["prior_hellinger"] = float(hellinger(law, self.prior))
        return values

    def artifacts(self) -> dict[str, Any]:
        return {"sampled": self.sampled(), "truth": self.truth}
