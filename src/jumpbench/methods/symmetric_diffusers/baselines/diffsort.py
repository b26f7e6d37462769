"""DiffSort and error-free DiffSort: one score per object, ordered by a soft sorting network."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.methods.symmetric_diffusers.baselines.trained import OrderingBaseline
from jumpbench.methods.symmetric_diffusers.evaluation import ListScores
from jumpbench.networks.sorting_networks import (
    Comparators,
    SoftSortingNetwork,
    odd_even,
    optimal_sigmoid,
)
from jumpbench.processes.permutations import apply

BLOCK = 4  # rows whose mean squared errors the public code averages; it adds up the blocks


class DiffSort(OrderingBaseline):
    """Binary cross-entropy of the soft permutation matrix (Petersen et al. 2022).

    With ``hard_weight`` also the squared error between the objects as ordered by the error-free
    network (hard forwards, soft backwards) and as they should be (Kim et al. 2024): that weight
    times the sum over places of the mean squared error of an object, divided by four, which is
    the scale of the public code (it sums means over blocks of four rows).

    Args:
        network: lists ``(B, n, ...)`` -> scores ``(B, n)``, ascending in the true order.
        steepness, comparators, sigmoid: of the sorting network.
        hard_weight: 0 for DiffSort; the loss weight of error-free DiffSort.
    """

    def __init__(
        self,
        network: nn.Module,
        steepness: float,
        optimizer: Callable[[Any], Optimizer],
        rate: Callable[[Optimizer], LRScheduler] | None = None,
        comparators: Callable[[int], Comparators] = odd_even,
        sigmoid: Callable[[Tensor], Tensor] = optimal_sigmoid,
        hard_weight: float = 0.0,
        scores: Callable[[], ListScores] = ListScores,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, rate, scores, seed)
        self._make = partial(
            SoftSortingNetwork, steepness=steepness, comparators=comparators, sigmoid=sigmoid
        )
        self.hard_weight = hard_weight

    def setup(self, stage: str) -> None:
        length = self.trainer.datamodule.length
        self.soft = self._make(length)
        self.hard = self._make(length, error_free=True) if self.hard_weight else None

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        objects, order = batch["objects"], batch["order"]
        ranks = self.network(objects).float()
        with torch.autocast(self.device.type, enabled=False):
            loss = matrix_loss(self.soft(ranks)[1], order)
            if self.hard is not None:
                loss = loss + self.hard_weight * object_loss(self.hard(ranks)[1], objects, order)
        self.log("train/loss", loss.detach())
        return loss

    def order(self, objects: Tensor) -> Tensor:
        return self.network(objects).argsort(-1)


def matrix_loss(mixing: Tensor, order: Tensor) -> Tensor:
    """Mean binary cross-entropy of P ``(B, n, n)`` against ones at ``(i, order[i])``."""
    truth = F.one_hot(order, order.shape[-1]).to(mixing.dtype)
    return F.binary_cross_entropy(mixing.clamp(0, 1), truth)  # rounding may leave [0, 1]


def object_loss(mixing: Tensor, objects: Tensor, order: Tensor) -> Tensor:
    """Sum over places / 4 of the mean squared error of the objects there, mean over lists."""
    found = mixing @ objects.flatten(2).to(mixing.dtype)
    return F.mse_loss(found, apply(order, objects).flatten(2)) * (order.shape[-1] / BLOCK)
