"""Exponential moving average of a network's weights, with the ramp that short phases need."""

import copy
from typing import Any

import torch
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
