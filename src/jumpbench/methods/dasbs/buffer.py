"""First-in-first-out buffer of simulated pairs, on the device, part of every checkpoint."""

from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.methods.dasbs.bridge import Pairs


class PairBuffer(nn.Module):
    """Keeps the newest ``capacity`` pairs (x_0, x_1) and their log path weights.

    States are stored as bytes. Fill level and position are plain numbers: nothing is read back
    from the device.
    """

    start: Tensor
    end: Tensor
    log_weight: Tensor

    def __init__(self, capacity: int, length: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.size = 0
        self.position = 0
        self.register_buffer("start", torch.zeros(capacity, length, dtype=torch.uint8))
        self.register_buffer("end", torch.zeros(capacity, length, dtype=torch.uint8))
        self.register_buffer("log_weight", torch.zeros(capacity))

    def clear(self) -> None:
        self.size = self.position = 0

    def append(self, pairs: Pairs) -> None:
        """Overwrites the oldest pairs; of a batch above the capacity, the last ones stay."""
        log_weight = pairs.log_weight
        rows = torch.arange(len(pairs.end), device=self.end.device)[-self.capacity :]
        places = (self.position + rows) % self.capacity
        self.start[places] = pairs.start[rows].to(torch.uint8)
        self.end[places] = pairs.end[rows].to(torch.uint8)
        weight = torch.zeros(()) if log_weight is None else log_weight[rows]
        self.log_weight[places] = weight.to(self.log_weight)
        self.position = (self.position + len(pairs.end)) % self.capacity
        self.size = min(self.size + len(pairs.end), self.capacity)

    def draw(self, n: int, generator: torch.Generator) -> Pairs:
        """``n`` pairs uniformly without replacement."""
        chosen = torch.randperm(self.size, generator=generator, device=self.end.device)[:n]
        return Pairs(self.start[chosen].long(), self.end[chosen].long(), self.log_weight[chosen])

    def get_extra_state(self) -> dict[str, Any]:
        return {"size": self.size, "position": self.position}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.size, self.position = int(state["size"]), int(state["position"])
