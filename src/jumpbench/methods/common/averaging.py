"""Exponential moving averages of weights, with the ramp that short phases need.

:class:`RampedAverage` is a network of its own, for methods that simulate with it while they train;
:class:`RampedWeightAveraging` is Lightning's callback, for those that use it afterwards.
"""

import copy
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import WeightAveraging
from torch import Tensor, nn


class RampedAverage(nn.Module):
    """Shadow weights that start at the initial ones; the j-th update decays by
    min(decay, (1+j)/(10+j)), j = 1, 2, ...

    torch's ``AveragedModel`` replaces the initial weights at the first update and keeps its
    counter on the device, where reading it stalls the step; hence this class.
    """

    def __init__(self, network: nn.Module, decay: float = 0.9999) -> None:
        super().__init__()
        self.network = copy.deepcopy(network).requires_grad_(False).eval()
        self.decay = decay
        self.updates = 0

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.network(*inputs)

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        torch._foreach_lerp_(list(self.network.parameters()), list(network.parameters()), 1 - decay)

    @torch.no_grad()
    def copy_to(self, network: nn.Module) -> None:
        """Puts the averaged weights into ``network``."""
        torch._foreach_copy_(list(network.parameters()), list(self.network.parameters()))

    def get_extra_state(self) -> dict[str, Any]:
        return {"updates": self.updates}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.updates = int(state["updates"])

    def train(self, mode: bool = True) -> "RampedAverage":
        return super().train(False)


class RampedWeightAveraging(WeightAveraging):
    """After training the module holds the average; update n decays by min(decay, (1+n)/(10+n)).

    All tensors of a device are updated together, without reading anything back.
    """

    def __init__(self, decay: float = 0.9999) -> None:
        super().__init__(use_buffers=False, multi_avg_fn=self._average)
        self.decay = decay

    @torch.no_grad()
    def _average(self, averages: list[Tensor], current: list[Tensor], count: Tensor | int) -> None:
        count = torch.as_tensor(count, dtype=torch.float32)
        share = 1 - torch.clamp((1 + count) / (10 + count), max=self.decay)
        change = torch._foreach_sub(current, averages)
        torch._foreach_mul_(change, share.to(averages[0].device))
        torch._foreach_add_(averages, change)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # A run that was stopped between its last step and the end of training has no step left to
        # take, and Lightning then ends without putting the average in place.
        if self._average_model is not None:
            self._copy_average_to_current(pl_module)
