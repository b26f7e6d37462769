"""Gumbel-Sinkhorn network: rows of scores per piece, soft permutations by Sinkhorn's rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.symmetric_diffusers.baselines.ordering import OrderingBaseline
from jumpbench.networks.sinkhorn import gumbel_sinkhorn
from jumpbench.processes.permutations import apply


class GumbelSinkhorn(OrderingBaseline):
    """Reassembly by soft permutations of perturbed scores (Mena et al. 2018).

    Row j of log-alpha belongs to piece j as presented, column i to place i. Loss: pixel mean
    squared error between the intact list and P^T applied to the pieces, averaged over samples P
    of the Gumbel-Sinkhorn law. Test: the assignment of largest total log-alpha, without noise.

    Args:
        network: lists (B, n, ...) -> log-alpha (B, n, n).
        temperature: tau of the samples.
        n_samples: per list.
        rounds: of Sinkhorn.

    Raises:
        UserError: a temperature that is not above 0, or fewer than one sample or round.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        temperature: float = 1.0,
        n_samples: int = 10,
        rounds: int = 20,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, scheduler, evaluation, seed)
        if not temperature > 0:
            raise UserError(f"temperature={temperature}: soft permutations need one above 0")
        for name, value in (("n_samples", n_samples), ("rounds", rounds)):
            if value < 1:
                raise UserError(f"{name}={value}: soft permutations need 1 or more")
        self.temperature, self.n_samples, self.rounds = temperature, n_samples, rounds

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        self.meter.count("network", batch["order"])
        log_alpha = self.network(batch["objects"]).float()
        generator = self.generator("gumbel")
        with torch.autocast(self.device.type, enabled=False):
            soft = gumbel_sinkhorn(
                log_alpha, self.temperature, self.n_samples, generator, self.rounds
            )
            loss = reassembly_loss(soft, batch["objects"], batch["order"])
        return self.logged(loss)

    def order(self, objects: Tensor) -> Tensor:
        return best_assignment(self.network(objects))


def reassembly_loss(soft: Tensor, pieces: Tensor, order: Tensor) -> Tensor:
    """Mean squared error of P^T pieces against ``pieces[order]``; soft (S, B, n, n)."""
    assembled = soft.transpose(-1, -2) @ pieces.flatten(2)
    return (assembled - apply(order, pieces).flatten(2)).square().mean()


def best_assignment(log_alpha: Tensor) -> Tensor:
    """h (B, n): h[i] the row given to column i, the total of log-alpha as large as possible."""
    cost = log_alpha.transpose(-1, -2).double().cpu().numpy()
    rows = np.stack([linear_sum_assignment(matrix, maximize=True)[1] for matrix in cost])
    return torch.from_numpy(rows).to(log_alpha.device)
