"""What samplers of an unnormalised law share: the target, networks by name, a warm start."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.base import Method
from jumpbench.seeding import derive_seed
from jumpbench.targets.base import DiscreteTarget, check_target, random_states

Builder = Callable[..., nn.Module]
"""Takes ``length`` and ``n_states``, such as a partial of a network class."""
Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
"""Takes the parameters, such as a partial of an optimiser class."""


class TargetSampler(Method):
    """A method that samples the law of ``target`` and never changes it.

    A target that is a module is no part of this one: it is moved along with it, but its weights
    are in no optimiser, in no checkpoint, and get no gradient from the losses.

    Args:
        target: the unnormalised law, of at most 256 symbols.
        chains_per_batch: chains per test batch.
        warm_start: folder of a finished run of the same method, such as the next hotter
            temperature; its weights start this one, with fresh optimisers.
        kwargs: of :class:`Method`.

    Raises:
        UserError: too many symbols; in training, a target that is not finite, a warm start
            without checkpoint.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        chains_per_batch: int = 512,
        warm_start: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if target.n_states > 256:
            raise UserError(
                f"states are stored as bytes: at most 256 symbols, not {target.n_states}"
            )
        vars(self)["target"] = target  # past nn.Module, which would make it a submodule
        self.chains_per_batch = chains_per_batch
        self.warm_start = warm_start

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "TargetSampler":
        if isinstance(self.target, nn.Module):
            self.target._apply(fn, recurse)
        return super()._apply(fn, recurse)

    @property
    def sizes(self) -> dict[str, int]:
        """What a network builder takes."""
        return {"length": self.target.length, "n_states": self.target.n_states}

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

    def start_from(self, weights: dict[str, Tensor]) -> None:
        """Takes over the networks from the state dict of another run of this method."""
        raise UserError(f"{type(self).__name__} has no weights to start from; drop warm_start")

    def on_fit_start(self) -> None:
        check_target(self.target, random_states(self.target, (64,), self.generator("check")))

    def on_train_start(self) -> None:
        super().on_train_start()
        # Not in on_fit_start: a resumed run learns its step, and its weights, after that.
        if self.warm_start is None or self.global_step > 0:
            return
        path = Path(self.warm_start) / "checkpoints" / "last.ckpt"
        if not path.is_file():
            raise UserError(f"{path} is missing: finish the run that warm_start names first")
        checkpoint = torch.load(path, map_location=self.device, weights_only=True)
        self.start_from(checkpoint["state_dict"])


def submodule_weights(weights: dict[str, Any], name: str) -> dict[str, Any]:
    """The entries of a state dict that belong to submodule ``name``, without the prefix."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): w for key, w in weights.items() if key.startswith(prefix)}
