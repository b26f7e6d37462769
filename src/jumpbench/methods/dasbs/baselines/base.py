"""What the trained baselines share: the test stage, the optimiser, the start from a hotter run."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.base import Method, load_artifacts
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.seeding import derive_seed
from jumpbench.targets.base import DiscreteTarget, check_target, random_states

Builder = Callable[..., nn.Module]
Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
Scheduler = Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler]
Metrics = Callable[[DiscreteTarget, Tensor, Tensor], dict[str, Any]]


class WeightedSampler(Method):
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
        super().__init__(seed)
        if target.n_states > 256:
            raise UserError(
                f"states are stored as bytes: at most 256 symbols, not {target.n_states}"
            )
        self.target = target
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.chains_per_batch = chains_per_batch
        self.ground_truth = ground_truth
        self.metrics = metrics
        self.warm_start = warm_start
        self._drawn: list[tuple[Tensor, Tensor]] = []

    @abstractmethod
    def draw(self, n_chains: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Samples ``(B, D)`` and log weights ``(B,)`` with ``E[exp(log weight)] = Z``."""

    @abstractmethod
    def start_from(self, weights: dict[str, Tensor]) -> None:
        """Takes over the networks from the state dict of another run of this method."""

    def build(self, builder: Builder, name: str, **sizes: int) -> nn.Module:
        """A network with initial weights that depend on the seed and the name alone."""
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self.seed, name))
            return builder(**sizes)

    def share(self, count: int, what: str) -> int:
        """This process's part of a global count.

        Raises:
            UserError: the devices do not divide it.
        """
        world = self.trainer.world_size
        if count % world:
            raise UserError(
                f"{what}={count} cannot be shared by {world} devices; choose trainer.devices so "
                "that it divides"
            )
        return count // world

    def configure_optimizers(self) -> Any:
        optimizer = self.optimizer([p for p in self.parameters() if p.requires_grad])
        if self.scheduler is None:
            return optimizer
        return [optimizer], [{"scheduler": self.scheduler(optimizer), "interval": "step"}]

    def on_fit_start(self) -> None:
        check_target(self.target, random_states(self.target, (64,), self.generator("check")))

    def on_train_start(self) -> None:
        super().on_train_start()
        if self.warm_start is None or self.global_step > 0:
            return
        path = Path(self.warm_start) / "checkpoints" / "last.ckpt"
        if not path.is_file():
            raise UserError(f"{path} is missing: finish the run that warm_start names first")
        checkpoint = torch.load(path, map_location=self.device, weights_only=True)
        self.start_from(checkpoint["state_dict"])

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


def submodule_weights(weights: dict[str, Any], name: str) -> dict[str, Any]:
    """The entries of a state dict that belong to submodule ``name``, without the prefix."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): w for key, w in weights.items() if key.startswith(prefix)}
