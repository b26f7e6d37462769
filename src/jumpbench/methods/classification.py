"""Classifiers that judge or guide samples, trained as runs of the suite."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from jumpbench.data.tokens import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.base import Method
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Classification(Method):
    """Cross-entropy training of a network on ``states`` and ``label`` of its batches.

    The test stage "draws" the most probable label of every state, (B, 1). The artifact
    ``network`` holds the weights.

    Args:
        network: states (B, D) -> logits (B, classes).
        optimizer: made of the network's parameters.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: Callable[[Any], Optimizer],
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed, evaluation)
        self.network, self.make_optimizer = network, optimizer

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        self.meter.count("network", batch["states"])
        loss = F.cross_entropy(self.network(batch["states"]), batch["label"])
        self.log("train/loss", loss.detach())
        return loss

    def configure_optimizers(self) -> Optimizer:
        return self.make_optimizer(self.network.parameters())

    @torch.no_grad()
    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        labels = self.network(batch["states"]).argmax(-1, keepdim=True)
        return Draws(labels, cost=Cost(1, 0, 1))

    def further_artifacts(self) -> dict[str, Any]:
        weights = self.network.state_dict()
        return {"network": {name: value.detach().cpu() for name, value in weights.items()}}
