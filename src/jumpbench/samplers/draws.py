"""What every sampler returns: samples, their weights, what they cost."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.cost import Cost


@dataclass(frozen=True)
class Draws:
    """A batch of samples.

    Attributes:
        samples: integers (B, ...).
        log_weights: (B,), unnormalised; None where samples count equally.
        cost: per sample, see :class:`~jumpbench.samplers.cost.Cost`.
        extras: by name, further tensors with leading axis B (acceptance, jumps, hypotheses).
    """

    samples: Tensor
    log_weights: Tensor | None = None
    cost: Cost = field(default_factory=Cost)
    extras: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.samples)
        if self.log_weights is not None and self.log_weights.shape != (size,):
            raise ValueError(f"{size} samples, log-weights {tuple(self.log_weights.shape)}")
        for name, value in self.extras.items():
            if len(value) != size:
                raise ValueError(f"{size} samples, '{name}' has {len(value)} rows")

    def __len__(self) -> int:
        return len(self.samples)

    def timed(self, seconds: float) -> "Draws":
        return replace(self, cost=replace(self.cost, seconds=seconds))

    @classmethod
    def joined(cls, parts: "Sequence[Draws]") -> "Draws":
        """Draws made one after the other, as one batch; the cost per sample is their mean."""
        cost, size = Cost(), sum(map(len, parts))
        for part in parts:
            cost += part.cost.scaled(len(part) / size)
        weights = [part.log_weights for part in parts if part.log_weights is not None]
        return cls(
            torch.cat([part.samples for part in parts]),
            torch.cat(weights) if len(weights) == len(parts) else None,
            cost,
            {name: torch.cat([part.extras[name] for part in parts]) for name in parts[0].extras},
        )

    def plain(self) -> dict[str, Any]:
        """Tensors on the CPU and values, for a file that is read weights-only."""
        weights = self.log_weights
        return {
            "samples": narrow(self.samples.cpu()),
            "log_weights": None if weights is None else weights.double().cpu(),
            "cost": vars(self.cost),
            "extras": {name: value.detach().cpu() for name, value in self.extras.items()},
        }

    @classmethod
    def restored(cls, plain: dict[str, Any]) -> "Draws":
        """The draws of :meth:`plain`; integer samples come back as ``long``."""
        samples = plain["samples"]
        if not samples.is_floating_point():
            samples = samples.long()
        return cls(samples, plain["log_weights"], Cost(**plain["cost"]), plain["extras"])


def timed(draw: Callable[[], Draws]) -> Draws:
    """What ``draw`` gives, with the seconds that it took: ways of drawing differ in cost. They are
    the wall's, since some ways are solvers with threads of their own."""
    started = time.monotonic()
    draws = draw()
    if draws.samples.is_cuda:
        torch.cuda.synchronize(draws.samples.device)
    return draws.timed(time.monotonic() - started)


def narrow(states: Tensor) -> Tensor:
    """Integer states in the smallest type that holds them (uint8, int16, int32)."""
    if states.is_floating_point() or states.dtype == torch.bool or states.numel() == 0:
        return states
    low, high = int(states.min()), int(states.max())
    for dtype in (torch.uint8, torch.int16, torch.int32):
        limits = torch.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return states.to(dtype)
    return states
