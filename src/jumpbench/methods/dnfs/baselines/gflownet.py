"""A generative flow network that fills sites in random order, trained by trajectory balance."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Builder
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws

UNFILLED = -1

adam = partial(torch.optim.Adam, lr=1e-3)


class FillingPerceptron(nn.Module):
    """Logits (B, D, N) of every site's symbol, from a vector (B, D) with -1 where unfilled."""

    def __init__(self, length: int, n_states: int, hidden: int = 256, depth: int = 3) -> None:
        super().__init__()
        widths = [length] + [hidden] * depth
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.LeakyReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, length * n_states))
        self.n_states = n_states

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.float()).unflatten(-1, (-1, self.n_states))


def fill(
    network: nn.Module, length: int, n: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """n states (n, D), filled in uniformly random orders, and log P_F of their values (n,).

    The order's own probability is that of the uniform backward policy and cancels. D passes.
    """
    device = generator.device
    order = torch.rand(n, length, generator=generator, device=device).argsort(dim=1)
    x = torch.full((n, length), UNFILLED, device=device)
    log_p = torch.zeros(n, device=device)
    for site in order.T:
        column = site[:, None]
        logits = network(x).gather(1, column[..., None].expand(-1, -1, network.n_states))[:, 0]
        log_values = logits.float().log_softmax(-1)
        value = torch.multinomial(log_values.detach().exp(), 1, generator=generator)
        log_p = log_p + log_values.gather(1, value)[:, 0]
        x = x.scatter(1, column, value)
    return x, log_p


class TrajectoryBalance(TargetSampler):
    """GFlowNet of an unnormalised law (as in EB-GFN, Zhang et al. 2022).

    The loss is the mean of (log Z + log P_F - log rho(x))^2 over on-policy trajectories. Samples
    are weighted by rho / P_F along the order that made them.

    Args:
        target: a positive law.
        network: builds, from ``length`` and ``n_states``, the logits; it has ``n_states``.
        optimizer: partial for the network's parameters.
        log_z_rate: learning rate of log Z, with Adam.
        batch_size: trajectories a step.
        kwargs: of :class:`TargetSampler`.
    """

    def __init__(
        self,
        target: Any,
        network: Builder = FillingPerceptron,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = adam,
        log_z_rate: float = 1.0,
        batch_size: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(target=target, **kwargs)
        if batch_size < 1 or not log_z_rate > 0:
            raise UserError("batch_size must be at least 1 and log_z_rate positive")
        self.network = self.build(network, "network", **self.sizes)
        self.log_z = nn.Parameter(torch.zeros(()))
        self.optimizer, self.log_z_rate, self.batch_size = optimizer, log_z_rate, batch_size
        self.automatic_optimization = False

    def configure_optimizers(self) -> tuple[torch.optim.Optimizer, ...]:
        return (
            self.optimizer(self.network.parameters()),
            torch.optim.Adam([self.log_z], lr=self.log_z_rate),
        )

    def training_step(self, batch: Any, batch_index: int) -> None:
        n = self.share(self.batch_size, "batch_size")
        x, log_p = fill(self.network, self.target.length, n, self.generator("paths"))
        with torch.no_grad():
            log_rho = self.metered_target.log_prob(x)
        self.meter.network += n * self.target.length
        loss = (self.log_z + log_p - log_rho).square().mean()
        optimizers = cast(list, self.optimizers())
        for optimizer in optimizers:
            optimizer.zero_grad()
        self.manual_backward(loss)
        for optimizer in optimizers:
            optimizer.step()
        self.log("train/loss", loss.detach())

    @torch.no_grad()
    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        x, log_p = fill(self.network, self.target.length, n, generator)
        weights = self.target.log_prob(x).double() - log_p.double()
        steps = float(self.target.length)
        return Draws(x, weights, Cost(steps, 1.0, steps))
