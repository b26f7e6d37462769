"""Markov chains as methods: what Metropolis, Swendsen-Wang and the ground truth share."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.base import load_artifacts
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.samplers.diagnostics import integrated_autocorrelation_time, split_rhat
from jumpbench.targets.base import check_target, random_states
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts


class Chains(TargetSampler):
    """Parallel Markov chains, run in the test stage; one test batch is one ensemble of chains.

    A subclass writes :meth:`advance`. Chains start from uniform states, run ``burn_in`` moves, and
    give one configuration each after every ``spacing`` further moves.

    Logs ``n_samples``, ``moves_per_chain``, ``tau`` and ``rhat`` (the largest over the summaries of
    :func:`summaries`, in units of kept draws) and, with a ground truth, the lattice metrics.
    Artifacts: ``samples`` (uint8), chains first: configuration ``chain * collections + draw``.

    Args:
        target: an Ising or Potts model.
        chains_per_batch: parallel chains per test batch.
        collections: configurations kept of each chain, at least 4 (for the diagnostics).
        burn_in: moves before the first configuration counts.
        spacing: moves per kept configuration.
        ground_truth: folder of the run whose artifacts hold the true ``samples``.
        metrics: what to compute from target, samples and true samples.
        seed: of all generators.

    Raises:
        UserError: counts out of range.
    """

    def __init__(
        self,
        target: Ising | Potts,
        chains_per_batch: int = 128,
        collections: int = 32,
        burn_in: int = 65536,
        spacing: int = 128,
        ground_truth: str | None = None,
        metrics: Callable[..., dict[str, Any]] = lattice_metrics,
        seed: int = 0,
    ) -> None:
        super().__init__(target, chains_per_batch, seed=seed)
        if chains_per_batch < 1 or collections < 4 or burn_in < 0 or spacing < 1:
            raise UserError(
                "chains need chains_per_batch >= 1, collections >= 4, burn_in >= 0 and spacing >= "
                f"1, not {chains_per_batch}, {collections}, {burn_in} and {spacing}"
            )
        self.collections = collections
        self.burn_in = burn_in
        self.spacing = spacing
        self.ground_truth = ground_truth
        self.metrics = metrics
        self._drawn: list[Tensor] = []

    @abstractmethod
    def advance(self, x: Tensor, n_moves: int, generator: torch.Generator) -> Tensor:
        """``x (B, D)`` uint8 after ``n_moves`` moves of every chain."""

    def start(self, generator: torch.Generator) -> Tensor:
        """Initial states ``(B, D)`` uint8."""
        return random_states(self.target, (self.chains_per_batch,), generator).to(torch.uint8)

    def collect(self, x: Tensor, spacing: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The last states, and the kept ones ``(B, collections, D)``."""
        kept = []
        for _ in range(self.collections):
            x = self.advance(x, spacing, generator)
            kept.append(x)
        return x, torch.stack(kept, 1)

    def draw(self, generator: torch.Generator) -> Tensor:
        """One ensemble, ``(B, collections, D)`` uint8."""
        x = self.start(generator)
        check_target(self.target, x)
        x = self.advance(x, self.burn_in, generator)
        return self.collect(x, self.spacing, generator)[1]

    def summary(self, samples: Tensor) -> dict[str, float]:
        """What is logged beside the metrics, from all configurations ``(B, collections, D)``."""
        return {
            "n_samples": float(samples.shape[0] * samples.shape[1]),
            "moves_per_chain": float(self.burn_in + self.collections * self.spacing),
            **diagnostics(self.target, samples),
        }

    def on_test_epoch_start(self) -> None:
        self._drawn = []

    def test_step(self, batch: Tensor, batch_idx: int) -> None:
        # Named after the class: chains compared with each other must not share their numbers.
        self._drawn.append(self.draw(self.generator(type(self).__name__)))

    def on_test_epoch_end(self) -> None:
        samples = torch.cat(self._drawn)
        self._drawn = []
        if self.trainer.world_size > 1:
            samples = self.all_gather(samples).flatten(0, 1)
        values = self.summary(samples)
        configurations = samples.flatten(0, 1)
        if self.ground_truth is not None:
            truth = load_artifacts(self.ground_truth, self.device)["samples"]
            values |= self.metrics(self.target, configurations, truth)
        self.log_dict({f"test/{name}": value for name, value in values.items()})
        self.artifacts["samples"] = configurations.cpu()
        self.artifacts["diagnostics"] = values


def summaries(target: Ising | Potts, x: Tensor) -> Tensor:
    """Energy and share of the majority of each configuration, and of symbol 0; ``(3, ...)``."""
    shares = torch.stack([(x == n).double().mean(-1) for n in range(target.n_states)])
    return torch.stack((target.energy(x).double(), shares.amax(0), shares[0]))


def diagnostics(target: Ising | Potts, samples: Tensor) -> dict[str, float]:
    """Worst autocorrelation time (in kept draws) and R-hat over :func:`summaries`.

    ``samples (chains, n, D)``.
    """
    values = summaries(target, samples)
    worst = torch.stack(
        (integrated_autocorrelation_time(values).max(), split_rhat(values).max())
    ).tolist()
    return {"tau": worst[0], "rhat": worst[1]}
