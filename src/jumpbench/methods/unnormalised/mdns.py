"""MDNS: a masked-diffusion sampler trained by weighted denoising of its own samples."""

from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import submodule_weights
from jumpbench.errors import UserError
from jumpbench.methods.common.averaging import RampedAverage
from jumpbench.methods.common.base import Builder
from jumpbench.methods.unnormalised.base import NetworkSampler
from jumpbench.methods.unnormalised.masked_denoising import denoising_loss
from jumpbench.networks.interface import check_scores
from jumpbench.samplers.cost import Meter, metered
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.unmasking import unmask


class MDNS(NetworkSampler):
    """Masked Diffusion Neural Sampler (Zhu et al. 2025), a baseline of DASBS.

    Every ``refresh_every`` steps the current network draws ``batch_size`` states
    (:func:`unmask`); each step masks them anew, ``replicates`` times, and fits the conditionals
    with softmax weights over the batch (:func:`denoising_loss`). Tests use the averaged weights.

    Args:
        network: builds, from ``length``, ``n_states`` and ``n_inputs = n_states + 1``, a network of
            states (B, D) with ``N`` as mask to logits (B, D, N).
        batch_size: states per roll-out and per step (over all devices).
        replicates: masked copies per state.
        refresh_every: steps between roll-outs.
        replay: roll-outs kept; a step draws its states among them without replacement.
        ema_decay: of the weights used in the test stage.
        kwargs: of :class:`NetworkSampler`.
    """

    network: nn.Module
    stored: Tensor
    stored_log_weights: Tensor

    def __init__(
        self,
        network: Builder,
        batch_size: int = 128,
        replicates: int = 8,
        refresh_every: int = 10,
        replay: int = 1,
        ema_decay: float = 0.9999,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if min(batch_size, replicates, refresh_every, replay) < 1:
            raise UserError("batch_size, replicates, refresh_every and replay must be at least 1")
        n_inputs = self.target.n_states + 1
        self.network = self.build(network, "network", **self.sizes, n_inputs=n_inputs)
        self.average = RampedAverage(self.network, ema_decay)
        self.batch_size = batch_size
        self.replicates = replicates
        self.refresh_every = refresh_every
        self._make_store(replay, batch_size)
        # Every process of a distributed run keeps the states that it drew.
        self._ddp_params_and_buffers_to_ignore = ["stored", "stored_log_weights"]

    def _make_store(self, replay: int, batch_size: int) -> None:
        shape = (replay, batch_size)
        states = torch.zeros(*shape, self.target.length, dtype=torch.uint8, device=self.device)
        self.register_buffer("stored", states)
        self.register_buffer("stored_log_weights", torch.zeros(shape, device=self.device))

    def check_networks(self, x: Tensor) -> None:
        masked = x.clone()
        masked[::2, 0] = self.target.n_states
        check_scores(self.network, masked, self.target.n_states, timed=False)

    def setup(self, stage: str) -> None:
        batch_size = self.share(self.batch_size, "batch_size")
        if batch_size != self.stored.shape[1]:
            self._make_store(len(self.stored), batch_size)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        meter = Meter()
        states, log_weights = self._unmask(self.average.network, n, generator, meter)
        return Draws(states, log_weights, meter.per_sample(n, self.target.length))

    @torch.no_grad()
    def _unmask(
        self, network: nn.Module, n: int, generator: torch.Generator, meter: Meter
    ) -> tuple[Tensor, Tensor]:
        """States and log weights ``log nu(x) - log q(x)``, evaluations counted by ``meter``."""
        logits = metered(network, meter, "network")
        x, log_q = unmask(logits, self.target.length, self.target.n_states, n, generator)
        return x, metered(self.target, meter).log_prob(x) - log_q

    def start_from(self, weights: dict[str, Tensor]) -> None:
        averaged = submodule_weights(weights, "average.network")
        self.network.load_state_dict(averaged)
        self.average.network.load_state_dict(averaged)

    def training_step(self, batch: Tensor, batch_index: int) -> Tensor:
        # The number of roll-outs so far follows from the step, so that a resumed run agrees.
        past, phase = divmod(self.global_step, self.refresh_every)
        if phase == 0:
            self._refresh(past % len(self.stored))
        states, log_weights = self._replay(min(past + 1, len(self.stored)))
        weights = log_weights.softmax(0) * len(log_weights)
        loss = denoising_loss(
            metered(self.network, self.meter, "network"),
            states,
            weights,
            self.replicates,
            self.target.n_states,
            self.generator("masks"),
        )
        self.log_dict({"train/loss": loss, "train/ess": 1 / weights.square().mean()})
        return loss

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        # Here and not in a batch hook: checkpoints are written before the module's batch hook.
        super().optimizer_step(*args, **kwargs)
        self.average.update(self.network)

    def _refresh(self, slot: int) -> None:
        n, generator = self.stored.shape[1], self.generator("rollout")
        states, log_weights = self._unmask(self.network, n, generator, self.meter)
        self.stored[slot] = states.to(self.stored.dtype)
        self.stored_log_weights[slot] = log_weights

    def _replay(self, filled: int) -> tuple[Tensor, Tensor]:
        states = self.stored[:filled].flatten(0, 1)
        log_weights = self.stored_log_weights[:filled].flatten()
        if filled == 1:
            return states, log_weights
        order = torch.randperm(len(states), generator=self.generator("replay"), device=self.device)
        chosen = order[: self.stored.shape[1]]
        return states[chosen], log_weights[chosen]
