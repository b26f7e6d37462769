"""Every site uniform on 0..M: what no model of the data may be worse than."""

import math
from typing import Any, cast

import torch

from jumpbench.data.counts import Batch
from jumpbench.methods.blackout.maximum import check_maximum
from jumpbench.methods.common.base import Method
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class UniformNoise(Method):
    """The uniform law on {0..M}^D. ``extras["bound"]`` is its exact -log p, D log(M + 1) nats.

    Args:
        maximum: M.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: test data of another maximum.
    """

    def __init__(self, maximum: int, **options: Any) -> None:
        super().__init__(**options)
        self.maximum = maximum

    def on_test_start(self) -> None:
        data = cast(Any, self.trainer).datamodule
        check_maximum("UniformNoise", self.maximum, data.source)

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        count, held_out = int(batch["count"]), batch["counts"]
        shape = (count, *held_out.shape[1:])
        samples = torch.randint(
            0, self.maximum + 1, shape, generator=generator, device=generator.device
        )
        extras = {}
        if len(held_out):
            nats = math.prod(shape[1:]) * math.log(self.maximum + 1)
            bound = torch.full((len(held_out),), nats, dtype=torch.float64)
            extras["bound"] = bound.view(count, -1)
        return Draws(samples, cost=Cost(sequential_steps=1.0), extras=extras)
