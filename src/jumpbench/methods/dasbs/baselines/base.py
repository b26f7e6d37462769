"""What the trained baselines share: the test stage, the optimiser, the start from a hotter run."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.base import load_artifacts
from jumpbench.methods.unnormalised.base import (
    Builder,
    Optimizer,
    TargetSampler,
    submodule_weights,
)
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.targets.base import DiscreteTarget

__all__ = ["Builder", "Optimizer", "WeightedSampler", "submodule_weights"]

Scheduler = Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler]
Metrics = Callable[[DiscreteTarget, Tensor, Tensor], dict[str, Any]]


class WeightedSampler(TargetSampler):
    """A method that is trained by its own simulations and draws weighted samples.

    A subclass writes ``training_step``, :meth:`draw` and :meth:`start_from`. The test stage draws
    one batch of chains per test batch and logs, without reweighting the samples, the metrics
    against the ground truth, ``ess = (mean w)^2 / mean w^2``, and ``log_z = log mean w`` with its
    standard error ``log_z_error``.

    Args:
        target: the law to sample; it must be positive.
        optimizer: partial that takes the parameters.
        scheduler: partial that takes the optimiser, stepped once per step.
        chains_per_batch: chains per test batch.
        ground_truth: folder of the run whose artifacts hold ``samples``; without it only the
            quantities that need no truth are logged.
        metrics: what to compute from target, samples and true samples.
        warm_start: folder of a finished run of the same method, such as the next hotter
            temperature; its weights start this one, with a fresh optimiser.
        seed: of all generators.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        optimizer: Optimizer,
        scheduler: Scheduler | None = None,
        chains_per_batch: int = 512,
        ground_truth: str | None = None,
        metrics: Metrics = lattice_metrics,
        warm_start: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(target, chains_per_batch, warm_start, seed=seed)
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.ground_truth = ground_truth
        self.metrics = metrics
        self._drawn: list[tuple[Tensor, Tensor]] = []

    @abstractmethod
    def draw(self, n_chains: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Samples ``(B, D)`` and log weights ``(B,)`` with ``E[exp(log weight)] = Z``."""

    def configure_optimizers(self) -> Any:
        optimizer = self.optimizer([p for p in self.parameters() if p.requires_grad])
        if self.scheduler is None:
            return optimizer
        return [optimizer], [{"scheduler": self.scheduler(optimizer), "interval": "step"}]

    def on_test_epoch_start(self) -> None:
        self._drawn = []

    def test_step(self, batch: Tensor, batch_idx: int) -> None:
        self._drawn.append(self.draw(self.chains_per_batch, self.generator("test")))

    def on_test_epoch_end(self) -> None:
        samples = torch.cat([x for x, _ in self._drawn])
        log_weights = torch.cat([w for _, w in self._drawn]).double()
        self._drawn = []
        if self.trainer.world_size > 1:
            samples = self.all_gather(samples).flatten(0, 1)
            log_weights = self.all_gather(log_weights).flatten()
        values = {"n_samples": len(samples), "ess": effective_sample_size(log_weights)}
        values["log_z"], values["log_z_error"] = log_normaliser(log_weights)
        if self.ground_truth is not None:
            truth = load_artifacts(self.ground_truth, self.device)["samples"]
            values |= self.metrics(self.target, samples, truth)
        self.log_dict({f"test/{name}": float(value) for name, value in values.items()})
        self.artifacts["samples"] = samples.to(torch.uint8).cpu()
        self.artifacts["log_weights"] = log_weights.cpu()
