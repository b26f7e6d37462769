"""One of the two networks of DASBS with all that trains it: matching, pairs, optimiser, average."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.common.averaging import RampedAverage
from jumpbench.methods.common.base import Builder
from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.methods.dasbs.buffer import PairBuffer
from jumpbench.methods.dasbs.losses import bregman, weighted_mean
from jumpbench.methods.dasbs.matching import AdjointMatching, Matching, Network, Ratios
from jumpbench.methods.unnormalised.base import Optimizer
from jumpbench.samplers.cost import Meter, metered


class Matcher(nn.Module):
    """A network that regresses on pairs of path ends, in phases of ``steps`` gradient steps.

    The same class serves the controller (B, D), (B,) -> (B, D, N) and the corrector
    (B, D) -> (B, D, N). The averaged weights are the only ones that simulate.

    Args:
        length: D of the target.
        n_states: N of the target.
        network: builds the network from the two.
        optimizer: partial that takes the parameters.
        matching: how targets are made.
        steps: of a phase; None for a phase without end.
        pairs: drawn per refresh, and per gradient step (over all devices).
        times: times per pair and gradient step.
        buffer_size: pairs kept (over all devices).
        refresh_every: gradient steps between refreshes.
        ema_decay: of the averaged weights.
        reweight: weight pairs by p*/p^u of their path (memoryless controller only).

    Raises:
        UserError: numbers out of range.
    """

    buffer: PairBuffer

    def __init__(
        self,
        length: int,
        n_states: int,
        network: Builder,
        optimizer: Optimizer,
        matching: Matching | None = None,
        steps: int | None = 500,
        pairs: int = 128,
        times: int = 8,
        buffer_size: int = 512,
        refresh_every: int = 20,
        ema_decay: float = 0.9999,
        reweight: bool = False,
    ) -> None:
        super().__init__()
        counts = {"pairs": pairs, "times": times, "refresh_every": refresh_every, "steps": steps}
        for name, value in counts.items():
            if value is not None and value < 1:
                raise UserError(f"{name} is {value}; it must be at least 1")
        if buffer_size < pairs:
            raise UserError(
                f"buffer_size={buffer_size} cannot hold the pairs={pairs} of one refresh; make it "
                "at least as large"
            )
        self.matching: Matching = matching or AdjointMatching()
        self.optimizer = optimizer
        self.steps, self.refresh_every = steps, refresh_every
        self.pairs, self.times, self.buffer_size = pairs, times, buffer_size
        self.reweight = reweight
        self.network = network(length=length, n_states=n_states)
        self.average = RampedAverage(self.network, ema_decay)
        self.buffer = PairBuffer(buffer_size, length)

    def call(self, name: str, meter: Meter | None = None) -> Callable[..., Tensor]:
        """``network`` or ``average`` as a function, counted by ``meter``."""
        function = getattr(self, name)
        return function if meter is None else metered(function, meter, "network")

    # Pairs

    def share(self, world: int) -> None:
        """Keep one device's part of the pairs.

        Raises:
            UserError: ``world`` devices do not divide them.
        """
        if self.pairs % world or self.buffer_size % world:
            raise UserError(
                f"pairs={self.pairs} and buffer_size={self.buffer_size} cannot be shared by "
                f"{world} devices; choose trainer.devices so that it divides both"
            )
        if self.buffer.capacity != self.buffer_size // world:
            self.buffer = PairBuffer(self.buffer_size // world, self.buffer.end.shape[1])

    def draw_pairs(self, generator: torch.Generator) -> Pairs:
        """This device's batch of one gradient step."""
        return self.buffer.draw(self.pairs * self.buffer.capacity // self.buffer_size, generator)

    # Training

    def controller_divergence(
        self, control: Network, pairs: Pairs, end_ratios: Ratios, reference: Reference,
        generator: torch.Generator,
    ) -> Tensor:  # fmt: skip
        """Divergence (B, R) of ``control`` at R times of every pair: ctrl-AM or ctrl-DM.

        ``end_ratios`` maps x_1 (B, D) to log nu-ratios minus log Phihat (B, D, N).
        """
        with torch.no_grad():
            t, x, log_target = self.matching.controller(
                pairs, self.times, end_ratios, reference, generator
            )
        output = control(x.flatten(0, 1), t.flatten()).view_as(log_target)
        return bregman(log_target, output, x)

    def corrector_divergence(
        self, corrector: Network, pairs: Pairs, start_ratios: Ratios, reference: Reference,
        generator: torch.Generator,
    ) -> Tensor:  # fmt: skip
        """Divergence (B, R) of ``corrector`` at x_1: corr-AM (R = 1) or corr-DM.

        The network reads x_1 only, so it is evaluated once per pair, whatever R. ``start_ratios``
        maps x_0 (B, D) to log mu-ratios minus log Phi_0 (B, D, N).
        """
        with torch.no_grad():
            log_target = self.matching.corrector(
                pairs, self.times, start_ratios, reference, generator
            )
        end = pairs.end
        return bregman(log_target, corrector(end).unsqueeze(1), end.unsqueeze(1))

    def mean(self, divergence: Tensor, pairs: Pairs) -> Tensor:
        """The loss: the mean of (B, R), weighted by the pairs' paths if ``reweight``."""
        return weighted_mean(divergence, pairs.log_weight if self.reweight else None)

    def take(self, weights: dict[str, Any]) -> None:
        """Starts network and average from averaged weights."""
        self.network.load_state_dict(weights)
        self.average.network.load_state_dict(weights)
