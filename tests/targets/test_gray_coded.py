"""The Gray code of points, and the seven densities that are coded with it."""

import math

import numpy as np
import pytest
import torch

from jumpbench.data.densities import DENSITIES, ENTROPY, DensityData, code_of, entropy_floor
from jumpbench.errors import UserError
from jumpbench.metrics.hamming_mmd import hamming_mmd, mmd_noise
from jumpbench.seeding import make_generator
from jumpbench.targets.gray_coded import GrayCode


def test_round_trip_loses_less_than_a_quantum_towards_zero():
    code = GrayCode(5.0)
    points = 6 * (2 * torch.rand(20_000, 2, generator=make_generator(0), dtype=torch.float64) - 1)
    found = code.decode(code.encode(points))
    lost = points.abs() - found.abs()
    assert (lost >= 0).all() and lost.max() < 1 / code.int_scale
    assert torch.equal(found < 0, (points < 0) & (found != 0))


def test_neighbouring_integers_differ_in_one_bit():
    code = GrayCode(5.0, bits=8)
    points = (torch.arange(127, dtype=torch.float64) + 0.5) / code.int_scale
    bits = code.encode(points[:, None])
    assert ((bits[1:] != bits[:-1]).sum(1) == 1).all()
    assert len(torch.unique(bits, dim=0)) == 127
    assert ((bits != code.encode(-points[:, None])).sum(1) == 1).all()


def test_points_outside_the_scale_are_refused():
    for value in (6.5, float("nan")):
        with pytest.raises(UserError, match=r"within 6 of the axes: enlarge f_scale"):
            GrayCode(5.0).encode(torch.tensor([[0.0, value]]))


@pytest.mark.parametrize("name", DENSITIES)
def test_entropy_of_each_density(name):
    """Histogram entropy of a million points on 128 x 128 cells, against the table."""
    n, cells, edge = 1_000_000, 128, 6.5
    points = DENSITIES[name](n, make_generator(3, name))
    index = ((points + edge) / (2 * edge) * cells).long().clamp(0, cells - 1)
    counts = torch.bincount(index[:, 0] * cells + index[:, 1]).double()
    p = counts[counts > 0] / n
    width = 2 * edge / cells
    entropy = -(p * p.log()).sum() + 2 * math.log(width)
    # Cells blur curves of width 0.1 to 0.3, so the histogram's entropy lies above.
    assert -0.02 < float(entropy) - ENTROPY[name] < 0.12


def test_floors_of_the_specification():
    assert entropy_floor("checkerboard") == pytest.approx(20.677, abs=0.001)
    assert entropy_floor("8gaussians") == pytest.approx(19.977, abs=0.001)
    assert entropy_floor("pinwheel") == pytest.approx(19.547, abs=0.001)
    assert entropy_floor("2spirals") == pytest.approx(20.038, abs=0.06)
    assert code_of("circles") == code_of("circles")


def test_seeded_scales_are_those_of_the_published_generators():
    """5000 points of numpy's RandomState(1), the normal numbers of a point before its mixture's."""
    rng, points = np.random.RandomState(1), []
    for _ in range(5000):
        noise, turn = 0.5 * rng.randn(2), (0, 4, 2, 6, 1, 7, 3, 5)[rng.randint(8)] * math.pi / 4
        points.append(noise + 4 * np.array([math.cos(turn), math.sin(turn)]))
    largest = np.abs(np.array(points)).max() / 1.414
    assert code_of("8gaussians").f_scale == pytest.approx(largest + 1, abs=1e-6)  # float32 points

    feature = np.random.RandomState(1).randn(5000, 2) * [0.3, 0.1] + [1, 0]
    turn = 2 * math.pi * np.repeat(np.arange(5), 1000) / 5 + 0.25 * np.exp(feature[:, 0])
    across = feature[:, 0] * np.cos(turn) + feature[:, 1] * np.sin(turn)
    along = feature[:, 1] * np.cos(turn) - feature[:, 0] * np.sin(turn)
    largest = 2 * np.abs([across, along]).max()
    assert code_of("pinwheel").f_scale == pytest.approx(largest + 1, abs=1e-12)


def test_mmd_of_equal_laws_is_zero_within_its_noise_and_of_uniform_bits_is_not():
    data = DensityData("checkerboard")
    x, y = data.bits("test", 0, 4000), data.bits("test", 1, 4000)
    uniform = torch.randint(2, x.shape, generator=make_generator(1))
    assert abs(hamming_mmd(x, y)) < 4 * mmd_noise(y, 4000)
    assert mmd_noise(y, 4000) == pytest.approx(0.44e-4, rel=0.03)
    assert hamming_mmd(x, uniform) == pytest.approx(68e-4, rel=0.1)


def test_noise_of_the_mmd_is_that_of_its_enumerated_law():
    """Of three bits, by all pairs of states; and of 4,000 MMDs of 20 draws a side."""
    g, p = make_generator(3), torch.tensor([0.2, 0.5, 0.7], dtype=torch.float64)
    states = torch.cartesian_prod(*[torch.arange(2)] * 3)
    law = torch.where(states == 1, p, 1 - p).prod(1)
    kernel = torch.exp(-0.1 * (states[:, None] != states).sum(-1).double())
    means = kernel @ law
    centred = kernel - means[:, None] - means + law @ means
    exact = float((law @ centred.square() @ law * (4 / (20 * 19) + 4 / 20**2)).sqrt())

    def draws(*shape):
        return (torch.rand(*shape, 3, generator=g, dtype=torch.float64) < p).long()

    values = torch.tensor([hamming_mmd(*pair) for pair in draws(4000, 2, 20)]).double()
    second = values.square()
    assert abs(second.mean() - exact**2) < 4 * second.std() / len(values) ** 0.5
    assert second.std() / len(values) ** 0.5 < 0.05 * exact**2
    estimates = torch.tensor([mmd_noise(draws(1500), 20) for _ in range(20)])
    assert abs(estimates.mean() - exact) < 4 * estimates.std() / 20**0.5 < 0.02 * exact
    # Of 100 draws 1 % too small, as their own means are taken away; pairs of a draw with itself
    # would make it 1 % too large (standard error 0.25 %).
    few = torch.tensor([mmd_noise(draws(100), 20) for _ in range(200)])
    assert 0.98 < float(few.mean()) / exact < 0.998


def test_mmd_is_the_u_statistic():
    g = make_generator(2)
    x, y = (torch.randint(2, (n, 5), generator=g) for n in (6, 7))

    def kernel(a, b):
        return torch.exp(-0.1 * (a[:, None] != b[None]).sum(-1).double())

    off = [k.sum() - k.diagonal().sum() for k in (kernel(x, x), kernel(y, y))]
    expected = off[0] / 30 + off[1] / 42 - 2 * kernel(x, y).mean()
    assert hamming_mmd(x, y) == pytest.approx(float(expected), abs=1e-6)


def test_batches_are_numbered():
    data = DensityData("moons", train_batch_size=16, n_samples=96, batch_size=32)
    batches = list(data.test_dataloader())
    assert [b.shape for b in batches] == [(32, 32)] * 3
    assert torch.equal(batches[1], data.bits("test", 1, 32))
    first = next(iter(data.train_dataloader()))
    assert first.shape == (16, 32) and set(first.unique().tolist()) == {0, 1}
    with pytest.raises(UserError, match="no density 'moon'"):
        DensityData("moon")
