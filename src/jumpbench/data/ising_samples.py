"""Samples of a lattice Ising model, to learn its couplings from; and how far learnt ones are."""

import math
from typing import cast

import torch
from lightning import LightningDataModule
from torch import Tensor, nn
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.seeding import make_generator
from jumpbench.targets.base import random_states
from jumpbench.targets.ising import Ising


def lattice_couplings(size: int, sigma: float) -> Tensor:
    """J = sigma A of the periodic lattice, (D, D): log p = s^T J s counts every bond twice."""
    site = torch.arange(size * size).view(size, size)
    couplings = torch.zeros(size * size, size * size)
    for axis in (0, 1):
        couplings[site.flatten(), site.roll(1, axis).flatten()] = sigma
    larger = torch.maximum if sigma > 0 else torch.minimum
    return larger(couplings, couplings.T)


class IsingSamples(LightningDataModule):
    """``n`` samples of log p = sigma s^T A s on the L x L torus, in shuffled batches.

    Made by ``n`` parallel Gibbs chains of ``sweeps`` sweeps with a random global flip of each at
    the end: beyond the critical sigma 0.2203 single-site chains keep the sign of their
    magnetisation. (The paper has a million Gibbs steps per instance.)

    Args:
        size: L, at least 3.
        sigma: coupling, either sign.
        n: samples.
        train_batch_size: of training, drawn with replacement, batch i with a seed of its own.
        sweeps: Gibbs sweeps.
        seed: of data; not the run's.
    """

    def __init__(
        self,
        size: int,
        sigma: float,
        n: int = 2000,
        train_batch_size: int = 128,
        sweeps: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if min(n, train_batch_size, sweeps) < 1:
            raise UserError("n, train_batch_size and sweeps must be at least 1")
        self.target = Ising(size, 2 * abs(sigma), math.copysign(1.0, sigma))
        self.n, self.train_batch_size, self.sweeps, self.seed = n, train_batch_size, sweeps, seed
        self._states: Tensor | None = None

    @property
    def states(self) -> Tensor:
        """(n, D) long."""
        if self._states is None:
            generator = make_generator(self.seed, "ising samples")
            x = random_states(self.target, (self.n,), generator)
            x, _ = SystematicGibbs()(self.target, x, self.sweeps, generator)
            flip = torch.randint(2, (self.n, 1), generator=generator)
            self._states = torch.where(flip == 1, 1 - x, x).long()
        return self._states

    def batch(self, number: int) -> Tensor:
        generator = make_generator(self.seed, "batch", number)
        return self.states[torch.randint(self.n, (self.train_batch_size,), generator=generator)]

    def train_dataloader(self) -> DataLoader:
        return DataLoader(EndlessBatches(self.batch, self.trainer), batch_size=None)

    def test_dataloader(self) -> DataLoader:
        return numbered_loader(lambda number: self.states, 1, self.trainer)


class CouplingError:
    """Error of learnt couplings over all D^2 entries: ``neg_log_rmse`` = -ln RMSE, ``rmse``.

    ``zero_neg_log_rmse`` is the score of J = 0: what lies below it has learnt nothing.
    """

    def __init__(self, size: int, sigma: float) -> None:
        self.truth = lattice_couplings(size, sigma).double()

    def __call__(self, energy: nn.Module) -> dict[str, float]:
        learnt = cast(Tensor, energy.couplings).detach().double().cpu()
        rmse = float((learnt - self.truth).square().mean().sqrt())
        zero = float(self.truth.square().mean().sqrt())
        return {"rmse": rmse, "neg_log_rmse": -math.log(rmse), "zero_neg_log_rmse": -math.log(zero)}
