"""Every site drawn from its own histogram: what a model of one pixel at a time reaches."""

from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.data.counts import Batch
from jumpbench.methods.blackout.maximum import check_maximum
from jumpbench.methods.common.base import Method
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class IndependentPixels(Method):
    """The product of the sites' training histograms, (n + 1) / (N + M + 1) each.

    ``extras["bound"]`` is the exact negative log-likelihood of the held-out counts.

    Args:
        maximum: M.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: test data of another maximum.
    """

    def __init__(self, maximum: int, **options: Any) -> None:
        super().__init__(**options)
        self.maximum = maximum
        self._log_law: Tensor | None = None

    def on_test_start(self) -> None:
        data = cast(Any, self.trainer).datamodule
        check_maximum("IndependentPixels", self.maximum, data.source)
        self._log_law = log_histograms(data.source.table("train"), self.maximum)

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        assert self._log_law is not None
        law = self._log_law.to(self.device)
        count, held_out = int(batch["count"]), batch["counts"]
        flat = torch.multinomial(law.exp(), count, replacement=True, generator=generator)
        samples = flat.T.reshape(count, *held_out.shape[1:])
        extras = {}
        if len(held_out):
            values = held_out.flatten(1).long().T
            nats = -law.gather(1, values).sum(0)
            extras["bound"] = nats.view(count, -1)
        return Draws(samples, cost=Cost(sequential_steps=1.0), extras=extras)


def log_histograms(counts: Tensor, maximum: int) -> Tensor:
    """Smoothed log frequencies (sites, M + 1) of counts (N, ...), float64."""
    sites = counts.flatten(1).T
    counts_by_site = torch.stack(
        [torch.bincount(site.int(), minlength=maximum + 1) for site in sites]
    ).double()
    return ((counts_by_site + 1) / (len(counts) + maximum + 1)).log()
