"""LEAPS: an annealed jump process fitted by its Kolmogorov residual."""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.artifacts import submodule_weights
from jumpbench.errors import UserError
from jumpbench.methods.common.base import Builder
from jumpbench.methods.unnormalised.base import NetworkSampler
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.interface import check_flux
from jumpbench.samplers.annealed_jumps import (
    LEFT_END,
    TRAPEZOIDAL,
    KernelMoves,
    annealed_rollout,
    path_sum,
)
from jumpbench.samplers.annealed_path import residual_generator
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import metered, table_evaluations
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.jumps import Rule, frozen, renormalise
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.samplers.weights import effective_sample_size
from jumpbench.targets.lattice import is_lattice


class LEAPS(NetworkSampler):
    """Locally Equivariant discrete Annealed Proactive Sampler (Holderrieth et al. 2025).

    The loss is the mean square of ``xi_t(x) + dF/dt`` (:func:`residual_generator`; ``F`` the free
    energy network) over points of stored roll-outs. A roll-out has ``k`` random times in
    ``[0, k / n_steps]``, ends included, and Metropolis moves after every network step; ``k`` grows
    from 1 to ``n_steps`` like the square root of the step over ``horizon_steps`` steps. The store
    is filled by one roll-out per step, then its oldest is replaced every ``refresh_every`` steps;
    each step takes one stored roll-out and ``batch_size`` of its (chain, time) points.

    A step of the network and the Metropolis moves are those of the released code. Of two symbols a
    site flips with probability min(1, dt G), and moves propose flips. Of more, a site leaves its
    symbol with probability 1 - exp(-dt sum G) for one drawn in proportion to G, and moves propose
    any of the N symbols, in one of N cases the current one. Not as released: moves follow p_t at
    the right end of a step (there at the left), each chain has a site of its own (there all chains
    move at one site), and what rounding does there to the law of Potts steps is not repeated.

    Test samples carry trapezoidal weights, as those of DNFS do; the left-end ones of both releases
    are the extra ``left_log_weights``. Metropolis moves leave no state at which the right end of a
    step could be weighted: with them both are the left-end ones.

    Args:
        network: builds, from ``length`` and ``n_states``, a locally equivariant network of states
            (B, D) and times (B,) to (B, D, N).
        free_energy: builds the scalar network, which has a ``derivative``.
        n_steps: network steps from uniform to target.
        n_chains: chains of a roll-out (over all devices).
        batch_size: points per loss (over all devices).
        stored_rollouts: roll-outs kept.
        refresh_every: steps between roll-outs once the store is full.
        horizon_steps: training steps until the roll-outs reach the target.
        n_metropolis: single-site proposals per network step in training, counted as released.
        n_metropolis_test: the same in the test stage; zero tests the learned process alone.
        kwargs: of :class:`NetworkSampler`.
    """

    stored: Tensor
    stored_times: Tensor
    stored_lengths: Tensor
    free_energy: FreeEnergy

    def __init__(
        self,
        network: Builder,
        free_energy: Callable[..., FreeEnergy] = FreeEnergy,
        n_steps: int = 125,
        n_chains: int = 200,
        batch_size: int = 400,
        stored_rollouts: int = 100,
        refresh_every: int = 100,
        horizon_steps: int = 20_000,
        n_metropolis: int = 200,
        n_metropolis_test: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if min(n_steps, n_chains, batch_size, stored_rollouts, refresh_every) < 1:
            raise UserError(
                "n_steps, n_chains, batch_size, stored_rollouts and refresh_every must be >= 1"
            )
        if min(n_metropolis, n_metropolis_test) < 0:
            raise UserError("n_metropolis and n_metropolis_test must be >= 0")
        self.network = self.build(network, "network", **self.sizes)
        self.free_energy = self.build(free_energy, "free_energy")
        self.n_steps = n_steps
        self.n_chains = n_chains
        self.batch_size = batch_size
        self.refresh_every = refresh_every
        self.horizon_steps = horizon_steps
        self.n_metropolis = n_metropolis
        self.n_metropolis_test = n_metropolis_test
        self.stored_rollouts = stored_rollouts
        self._make_store(n_chains)
        # Every process of a distributed run keeps the paths that it simulated.
        names = ["stored", "stored_times", "stored_lengths"]
        self._ddp_params_and_buffers_to_ignore = names

    def _make_store(self, n_chains: int) -> None:
        shape, device = (self.stored_rollouts, self.n_steps + 1), self.device
        path = (*shape, n_chains, self.target.length)
        self.register_buffer("stored", torch.zeros(path, dtype=torch.uint8, device=device))
        self.register_buffer("stored_times", torch.zeros(shape, device=device))
        lengths = torch.zeros(self.stored_rollouts, dtype=torch.long, device=device)
        self.register_buffer("stored_lengths", lengths)

    def check_networks(self, x: Tensor) -> None:
        check_flux(self.network, x, self.target.n_states)

    def setup(self, stage: str) -> None:
        n_chains = self.share(self.n_chains, "n_chains")
        if n_chains != self.stored.shape[2]:
            self._make_store(n_chains)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        times = torch.linspace(0, 1, self.n_steps + 1, device=generator.device)
        moves = self._moves(self.n_metropolis_test)
        ends = annealed_rollout(
            self.network, self.target, times, n, generator, moves, ends=TRAPEZOIDAL,
            rule=self._rule,
        )  # fmt: skip
        left = path_sum(ends.integrands, times, LEFT_END)
        weights = ends.log_weights if moves is None else left
        return Draws(ends.states[-1], weights, ends.cost, {"left_log_weights": left})

    @property
    def _rule(self) -> Rule:
        return renormalise if self.target.n_states == 2 else frozen

    def _moves(self, n_proposals: int) -> KernelMoves | None:
        if not n_proposals:
            return None
        flips = self.target.n_states == 2
        kernel: Kernel
        if is_lattice(self.target):
            kernel = cast(Kernel, LatticeMetropolis(current=not flips))
        else:
            kernel = OtherSymbolMetropolis() if flips else SingleSiteMetropolis()
        return KernelMoves(kernel, n_proposals)

    def start_from(self, weights: dict[str, Tensor]) -> None:
        self.network.load_state_dict(submodule_weights(weights, "network"))
        self.free_energy.load_state_dict(submodule_weights(weights, "free_energy"))

    def training_step(self, batch: Tensor, batch_index: int) -> Tensor:
        # Slot and horizon follow from the step, so that a resumed run agrees.
        full = len(self.stored)
        late = self.global_step - full
        if late < 0:
            self._refresh(self.global_step)
        elif (late + 1) % self.refresh_every == 0:
            self._refresh((late // self.refresh_every) % full)
        x, t = self._points(min(self.global_step + 1, full))
        flux = metered(self.network, self.meter, "network")(x, t)
        xi = residual_generator(self.target, x, t, flux)
        self.meter.count("energy", x, evaluations=table_evaluations(self.target))
        residual = xi + self.free_energy.derivative(t)
        loss = residual.square().mean()
        self.log("train/loss", loss)
        return loss

    def horizon(self, step: int) -> int:
        """Network steps of a roll-out made at a training step."""
        part = min(1.0, (step + 1) / max(self.horizon_steps, 1))
        return max(1, math.ceil(self.n_steps * math.sqrt(part) - 1e-9))

    def _refresh(self, slot: int) -> None:
        k = self.horizon(self.global_step)
        generator = self.generator("rollout")
        times = torch.rand(k + 1, generator=generator, device=self.device)
        times[0], times[-1] = 0.0, 1.0
        times = times.sort().values * (k / self.n_steps)
        n_chains = self.stored.shape[2]
        paths = annealed_rollout(
            self.network, self.target, times, n_chains, generator,
            self._moves(self.n_metropolis), keep_path=True, rule=self._rule,
        )  # fmt: skip
        self.meter.add(paths.cost, n_chains)
        self.stored[slot, : k + 1] = paths.states.to(self.stored.dtype)
        self.stored_times[slot, : k + 1] = times
        self.stored_lengths[slot] = k + 1
        self.log("train/ess", effective_sample_size(paths.log_weights))

    def _points(self, filled: int) -> tuple[Tensor, Tensor]:
        generator, shape = self.generator("points"), (self.share(self.batch_size, "batch_size"),)
        slot = torch.randint(filled, (1,), generator=generator, device=self.device)
        chain = torch.randint(self.stored.shape[2], shape, generator=generator, device=self.device)
        uniform = torch.rand(shape, generator=generator, device=self.device)
        length = self.stored_lengths[slot]
        time = torch.minimum((uniform * length).long(), length - 1)
        return self.stored[slot, time, chain].long(), self.stored_times[slot, time]
