"""What samplers of an unnormalised law share: the target, draws in batches, a warm start."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import trained_weights
from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.samplers.cost import metered
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget, check_bytes, check_target, random_states
from jumpbench.targets.consistency import check_consistency

Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
"""Takes the parameters, such as a partial of an optimiser class."""
Scheduler = Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler]


class TargetSampler(Method):
    """A method that samples the law of ``target`` and never changes it.

    A target that is a module, or has one, is no part of this one: it is moved along with it, but
    its weights are in no optimiser, in no checkpoint, and get no gradient from the losses.

    Args:
        target: the unnormalised law, of at most 256 symbols.
        warm_start: folder of a finished run of the same method, such as the next hotter
            temperature; its weights start this one, with fresh optimisers.
        kwargs: of :class:`Method`.

    Raises:
        UserError: too many symbols; in training, a target that is not finite, a warm start
            without checkpoint.
    """

    target: DiscreteTarget

    def __init__(
        self,
        target: DiscreteTarget,
        warm_start: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_bytes(target.n_states)
        vars(self)["target"] = target  # past nn.Module, which would make it a submodule
        self.metered_target = metered(target, self.meter)
        self.warm_start = warm_start

    @abstractmethod
    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        """``n`` samples (n, D); log-weights, if any, with ``E[exp(log weight)] = Z``."""

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        return self.draw_chains(len(batch), generator)

    @torch.no_grad()
    def sample(self, n: int, generator: torch.Generator | None = None) -> Draws:
        """``n`` samples, as many at a time as the run's data say (``data.batch_size``), or 512."""
        generator = generator or self.generator("sample")
        data = None if self._trainer is None else getattr(self.trainer, "datamodule", None)
        size = getattr(data, "batch_size", 512)
        counts = [min(size, n - first) for first in range(0, n, size)]
        return Draws.joined([self.draw_chains(count, generator) for count in counts])

    # Networks

    @property
    def sizes(self) -> dict[str, int]:
        """What a network builder takes."""
        return {"length": self.target.length, "n_states": self.target.n_states}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "TargetSampler":
        module = getattr(self.target, "module", self.target)  # of an energy that is a network
        if isinstance(module, nn.Module):
            module._apply(fn, recurse)
        return super()._apply(fn, recurse)

    # Training

    def start_from(self, weights: dict[str, Tensor]) -> None:
        """Takes over the networks from the state dict of another run of this method."""
        raise UserError(f"{type(self).__name__} has no weights to start from; drop warm_start")

    def on_fit_start(self) -> None:
        states = random_states(self.target, (64,), self.generator("check"))
        check_target(self.target, states)
        check_consistency(self.target, states)
        fixed = random_states(self.target, (8,), torch.Generator().manual_seed(0))
        self.check_networks(fixed.to(self.device))

    def check_networks(self, x: Tensor) -> None:
        """Raises a UserError if a network does not take states ``x`` (8, D) as it should."""

    def on_train_start(self) -> None:
        super().on_train_start()
        # Not in on_fit_start: a resumed run learns its step, and its weights, after that.
        if self.warm_start is None or self.global_step > 0:
            return
        self.start_from(trained_weights(self.warm_start, device=self.device))


class NetworkSampler(TargetSampler):
    """A :class:`TargetSampler` with one optimiser of all its networks.

    Args:
        optimizer: partial that takes the parameters.
        scheduler: partial that takes the optimiser, stepped once per step.
        kwargs: of :class:`TargetSampler`.
    """

    def __init__(
        self, *, optimizer: Optimizer, scheduler: Scheduler | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.optimizer = optimizer
        self.scheduler = scheduler

    def configure_optimizers(self) -> Any:
        optimizer = self.optimizer([p for p in self.parameters() if p.requires_grad])
        if self.scheduler is None:
            return optimizer
        return [optimizer], [{"scheduler": self.scheduler(optimizer), "interval": "step"}]
