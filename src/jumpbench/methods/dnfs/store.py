"""The replay buffer: states of the newest roll-outs, on the device, first in first out."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.annealed_path import Slope


class Store:
    """Up to ``slots`` roll-outs of M trajectories on K + 1 grid points.

    Pairs (grid point, state) are drawn in shuffled order, without replacement until fewer
    than a batch are left, and then anew.

    Args:
        slots: roll-outs kept.
        keep_slopes: also keep the target's values at every state, which spares evaluating a costly
            target again in every loss; only for targets that do not change.
    """

    def __init__(self, slots: int, keep_slopes: bool = False) -> None:
        self.slots, self.keep_slopes = slots, keep_slopes
        self.count = 0
        self.tensors: dict[str, Tensor] = {}
        self._order = torch.empty(0, dtype=torch.long)
        self._position = 0

    @property
    def newest(self) -> int:
        return (self.count - 1) % self.slots

    @property
    def filled(self) -> int:
        return min(self.count, self.slots)

    def add(self, states: Tensor, derivative: Tensor, slopes: list[Slope] | None = None) -> None:
        """``states`` (K + 1, M, D) and d/dt log Z_t (K + 1, L) replace the oldest roll-out."""
        slot = self.count % self.slots
        entries = {"states": states.to(torch.uint8), "derivative": derivative}
        if self.keep_slopes and slopes is not None:
            entries |= {
                name: torch.stack([getattr(slope, name) for slope in slopes])
                for name in Slope._fields
            }
        for name, value in entries.items():
            ring = self.tensors.get(name)
            if ring is None:
                ring = self.tensors[name] = value.new_zeros((self.slots, *value.shape))
            ring[slot] = value
        self.count += 1
        self._order = self._order[:0]

    def draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Slots, grid points and trajectories of the next pairs, (size,) each."""
        points, chains = self.tensors["states"].shape[1:3]
        total = self.filled * points * chains
        if self._position + size > len(self._order):
            rounds = -(-size // total)
            order = [
                torch.randperm(total, generator=generator, device=generator.device)
                for _ in range(rounds)
            ]
            self._order, self._position = torch.cat(order), 0
        flat = self._order[self._position : self._position + size]
        self._position += size
        return flat // (points * chains), flat // chains % points, flat % chains

    def slope(self, slot: Tensor, point: Tensor, chain: Tensor) -> Slope | None:
        """Kept values of the target, or None."""
        if "ratios" not in self.tensors:
            return None
        return Slope(*(self.tensors[name][slot, point, chain] for name in Slope._fields))

    def plain(self) -> dict[str, Any]:
        """Tensors and numbers that :meth:`restore` takes."""
        return {
            "count": self.count,
            "position": self._position,
            "order": self._order,
            "tensors": self.tensors,
        }

    def restore(self, plain: dict[str, Any], device: torch.device) -> None:
        self.count, self._position = int(plain["count"]), int(plain["position"])
        self._order = plain["order"].to(device)
        self.tensors = {name: value.to(device) for name, value in plain["tensors"].items()}
