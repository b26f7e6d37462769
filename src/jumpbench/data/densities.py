"""Seven densities in the plane, coded as 32 bits; every training batch is drawn afresh.

Sources: the generators of the literature on discrete energy models, as the paper's appendix D.2
lists them.
"""

import math
from collections.abc import Callable

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator
from jumpbench.targets.gray_coded import GrayCode

Density = Callable[[int, torch.Generator], Tensor]


def _uniform(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _polar(radius: Tensor, angle: Tensor) -> Tensor:
    return torch.stack((radius * angle.cos(), radius * angle.sin()), -1)


def two_spirals(n: int, generator: torch.Generator) -> Tensor:
    turn = _uniform(generator, n).sqrt() * 3 * math.pi
    noise = _uniform(generator, n, 2)
    arm = torch.stack((-turn.cos() * turn, turn.sin() * turn), -1) + 0.5 * noise
    sign = torch.where(torch.arange(n) < n / 2, 1.0, -1.0)[:, None]
    return sign * arm / 3 + 0.1 * _normal(generator, n, 2)


def eight_gaussians(n: int, generator: torch.Generator) -> Tensor:
    angle = torch.randint(8, (n,), generator=generator) * (math.pi / 4)
    centre = _polar(torch.full((n,), 4.0, dtype=torch.float64), angle)
    return (centre + 0.5 * _normal(generator, n, 2)) / 1.414


def circles(n: int, generator: torch.Generator) -> Tensor:
    outer = n // 2
    angles = [torch.arange(k, dtype=torch.float64) * (2 * math.pi / k) for k in (outer, n - outer)]
    radius = torch.cat((torch.ones(outer), torch.full((n - outer,), 0.5))).double()
    return 3 * (_polar(radius, torch.cat(angles)) + 0.08 * _normal(generator, n, 2))


def moons(n: int, generator: torch.Generator) -> Tensor:
    upper = n // 2
    first, second = (torch.linspace(0, math.pi, k, dtype=torch.float64) for k in (upper, n - upper))
    points = torch.cat(
        (
            torch.stack((first.cos(), first.sin()), -1),
            torch.stack((1 - second.cos(), 0.5 - second.sin()), -1),
        )
    )
    return 2 * (points + 0.1 * _normal(generator, n, 2)) + points.new_tensor([-1.0, -0.2])


def pinwheel(n: int, generator: torch.Generator) -> Tensor:
    arm = torch.arange(n) % 5
    feature = _normal(generator, n, 2) * torch.tensor([0.3, 0.1]).double() + torch.tensor([1.0, 0])
    angle = 2 * math.pi * arm / 5 + 0.25 * feature[:, 0].exp()
    cos, sin = angle.cos(), angle.sin()
    first, second = feature.unbind(-1)
    return 2 * torch.stack((first * cos + second * sin, -first * sin + second * cos), -1)


def swissroll(n: int, generator: torch.Generator) -> Tensor:
    turn = 1.5 * math.pi * (1 + 2 * _uniform(generator, n))
    return (_polar(turn, turn) + _normal(generator, n, 2)) / 5


def checkerboard(n: int, generator: torch.Generator) -> Tensor:
    x = 4 * _uniform(generator, n) - 2
    low = torch.randint(2, (n,), generator=generator) * 2
    y = _uniform(generator, n) - low + x.floor() % 2
    return 2 * torch.stack((x, y), -1)


DENSITIES: dict[str, Density] = {
    "2spirals": two_spirals,
    "8gaussians": eight_gaussians,
    "circles": circles,
    "moons": moons,
    "pinwheel": pinwheel,
    "swissroll": swissroll,
    "checkerboard": checkerboard,
}

ENTROPY = {
    "2spirals": 2.645,
    "8gaussians": 2.830,
    "circles": 3.267,
    "moons": 2.393,
    "pinwheel": 2.318,
    "swissroll": 2.669,
    "checkerboard": math.log(32),
}
"""Differential entropies in nats, from histograms of 8 million points (+-0.005); exact for the
checkerboard."""


F_SCALE = {"8gaussians": 5.19477653503418, "pinwheel": 4.946059500727896, "checkerboard": 5.0}
"""Scales of the published codes: those of numpy's RandomState(1), and of a filled [-4, 4]^2."""


def code_of(name: str) -> GrayCode:
    """The code of a density: f_scale is the largest of 5000 points' coordinates, plus one.

    Where the published points are drawn without a seed, ours have a fixed one.
    """
    if name in F_SCALE:
        return GrayCode(F_SCALE[name])
    points = density(name)(5000, make_generator(1, "f_scale", name))
    return GrayCode(float(points.abs().max()) + 1)


def density(name: str) -> Density:
    """The generator called ``name``.

    Raises:
        UserError: there is no such density.
    """
    if name not in DENSITIES:
        raise UserError(f"no density '{name}'; there are: {', '.join(DENSITIES)}")
    return DENSITIES[name]


def entropy_floor(name: str) -> float:
    """Entropy of the bits in nats: what the best model's negative log-likelihood tends to.

    The bits are the points on a grid of int_scale points per unit length.
    """
    return ENTROPY[name] + 2 * math.log(code_of(name).int_scale)


class DensityData(LightningDataModule):
    """Bits (B, 32) of points; training batch i and test batch i have seeds of their own.

    Args:
        name: one of :data:`DENSITIES`.
        train_batch_size: points of a training batch.
        n_samples: test points, as many as samples are drawn.
        batch_size: of them at a time; each batch is an evaluation run of its own.
        seed: of the points; not the run's.
    """

    name: str

    def __init__(
        self,
        name: str,
        train_batch_size: int = 128,
        n_samples: int = 40000,
        batch_size: int = 4000,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if min(train_batch_size, n_samples, batch_size) < 1:
            raise UserError("train_batch_size, n_samples and batch_size must be at least 1")
        self.name, self.points, self.code = name, density(name), code_of(name)
        self.train_batch_size, self.seed = train_batch_size, seed
        self.n_samples, self.batch_size = n_samples, batch_size

    def bits(self, split: str, number: int, count: int) -> Tensor:
        """Bits (count, 32) long of batch ``number``.

        Points outside the code's square, of Gaussian tails, are drawn to its edge.
        """
        points = self.points(count, make_generator(self.seed, self.name, split, number))
        edge = self.code.f_scale + 1 - 1 / self.code.int_scale
        return self.code.encode(points.clamp(-edge, edge))

    def train_dataloader(self) -> DataLoader:
        return DataLoader(
            EndlessBatches(
                lambda number: self.bits("train", number, self.train_batch_size), self.trainer
            ),
            batch_size=None,
        )

    def test_dataloader(self) -> DataLoader:
        def make(number: int) -> Tensor:
            left = self.n_samples - number * self.batch_size
            return self.bits("test", number, min(self.batch_size, left))

        return numbered_loader(make, -(-self.n_samples // self.batch_size), self.trainer)
