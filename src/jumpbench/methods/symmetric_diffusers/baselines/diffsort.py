"""DiffSort and error-free DiffSort: one score per object, ordered by a soft sorting network."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.symmetric_diffusers.baselines.ordering import OrderingBaseline
from jumpbench.networks.sorting_networks import (
    Comparators,
    SoftSortingNetwork,
    cauchy_sigmoid,
    odd_even,
)
from jumpbench.ops.checks import require
from jumpbench.processes.permutations import inverse

BLOCK = 4  # objects of a block of the hard loss


class DiffSort(OrderingBaseline):
    """Binary cross-entropy of the soft permutation matrix (Petersen et al. 2022).

    With ``hard_weight`` also that weight times :func:`block_loss` of the error-free network (hard
    forwards, soft backwards; Kim et al. 2024).

    Args:
        network: lists (B, n, ...) -> scores (B, n), ascending in the true order.
        steepness: of the sorting network.
        comparators: likewise.
        sigmoid: likewise; by default the one that the public code of both methods runs (it parses
            another and does not pass it on).
        hard_weight: 0 for DiffSort; the loss weight of error-free DiffSort.
    """

    def __init__(
        self,
        network: nn.Module,
        steepness: float,
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        comparators: Callable[[int], Comparators] = odd_even,
        sigmoid: Callable[[Tensor], Tensor] = cauchy_sigmoid,
        hard_weight: float = 0.0,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, scheduler, evaluation, seed)
        self._make = partial(
            SoftSortingNetwork, steepness=steepness, comparators=comparators, sigmoid=sigmoid
        )
        self.hard_weight = hard_weight

    def setup(self, stage: str) -> None:
        length = cast(Any, self.trainer).datamodule.length
        self.soft = self._make(length)
        self.hard = self._make(length, error_free=True) if self.hard_weight else None

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        objects, order = batch["objects"], batch["order"]
        self.meter.count("network", order)
        ranks = self.network(objects).float()
        with torch.autocast(self.device.type, enabled=False):
            loss = matrix_loss(self.soft(ranks)[1], order)
            if self.hard is not None:
                loss = loss + self.hard_weight * block_loss(self.hard(ranks)[1], objects, order)
        return self.logged(loss)

    def order(self, objects: Tensor) -> Tensor:
        ranks = self.network(objects)
        require(ranks.isnan().any().logical_not_(), "the ranks of objects are NaN")
        return ranks.argsort(-1)


def matrix_loss(mixing: Tensor, order: Tensor) -> Tensor:
    """Mean binary cross-entropy of P (B, n, n) against ones at ``(i, order[i])``."""
    truth = F.one_hot(order, order.shape[-1]).to(mixing.dtype)
    return F.binary_cross_entropy(mixing.clamp(0, 1), truth)  # rounding may leave [0, 1]


def block_loss(mixing: Tensor, objects: Tensor, order: Tensor) -> Tensor:
    """Squared error of the order inside blocks of consecutive objects as presented.

    ``mixing`` (B, n, n) is a hard permutation matrix with gradient, place by object. The public
    code cuts the presented list into blocks of four, a last block of five taking what would be a
    block of one. In each, the block's objects in the order of the places that the network gives
    them (the matrix restricted to these places) are compared with their true relative order: the
    mean squared error of a block, summed over blocks.
    """
    features, places = objects.flatten(2).to(mixing.dtype), mixing.detach().argmax(1)
    true_places, loss = inverse(order), mixing.new_zeros(())
    n = order.shape[-1]
    ends = [end for end in range(BLOCK, n, BLOCK) if n - end > 1]
    for low, high in zip([0, *ends], [*ends, n], strict=True):
        rows = places[:, low:high].sort(-1).values  # (B, m): where the block's objects stand
        block = mixing[..., low:high].gather(1, rows.unsqueeze(-1).expand(-1, -1, high - low))
        ordered = true_places[:, low:high].argsort(-1).unsqueeze(-1)
        own = features[:, low:high]
        loss = loss + F.mse_loss(block @ own, own.gather(1, ordered.expand_as(own)))
    return loss
