import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.metrics.lattice import (
    LatticeStatistics,
    equal_symbol_probability,
    lattice_metrics,
    majority_fraction,
)
from jumpbench.metrics.wasserstein import wasserstein2
from jumpbench.samplers.clusters.swendsen_wang import SwendsenWang
from jumpbench.samplers.cost import Meter, metered
from jumpbench.targets.base import random_states
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from jumpbench.targets.potts import Potts
from jumpbench.targets.tabular import Tabular
from jumpbench.targets.tempered import Tempered
from oracles import generator


def uniform(target, count, seed=0):
    return random_states(target, (count,), generator(seed)).to(torch.uint8)


def cluster_samples(target, sweeps, draws, spacing, chains=128, seed=1):
    """``chains * draws`` configurations after ``sweeps`` from uniform starts."""
    random = generator(seed)
    x, _ = SwendsenWang()(target, uniform(target, chains, seed), sweeps, random)
    kept = []
    for _ in range(draws):
        x, _ = SwendsenWang()(target, x, spacing, random)
        kept.append(x)
    return torch.cat(kept)


@pytest.mark.parametrize("size", [3, 4, 5, 8])
def test_correlation_by_its_definition(size):
    x = random_states(Potts(size, 3, 0.5), (6,), generator())
    measured = equal_symbol_probability(x, size)
    grid = x.view(-1, size, size)
    for r in range(size):
        columns = torch.arange(size)
        rows = (grid == grid[:, (columns + r) % size]).double().mean((1, 2))
        across = (grid == grid[:, :, (columns + r) % size]).double().mean((1, 2))
        torch.testing.assert_close(measured[:, r], (rows + across) / 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("target", [Ising(6, 0.4), Potts(5, 4, 0.9)])
def test_energy_per_site_follows_from_the_correlation_at_lag_one(target):
    statistics = LatticeStatistics.of(target, uniform(target, 50))
    offset = 0 if isinstance(target, Ising) else 1 / target.n_states
    torch.testing.assert_close(
        statistics.energy / target.length, -2 * (statistics.correlation[:, 1] + offset)
    )
    torch.testing.assert_close(
        statistics.correlation[:, 0],
        torch.full((50,), 1.0 if isinstance(target, Ising) else 1 - offset, dtype=torch.float64),
    )


def test_majority_fraction():
    x = torch.tensor([[0, 1, 1, 3], [2, 2, 2, 2]])
    assert majority_fraction(x, 4).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("target", [Ising(4, 0.4), Potts(4, 3, 0.9)])
def test_identical_sets_have_no_error(target):
    x = uniform(target, 100)
    metrics = lattice_metrics(target, x, x.flip(0))
    errors = [v for k, v in metrics.items() if k.endswith(("_error", "_w2"))]
    assert len(errors) == 5
    assert errors == pytest.approx([0] * len(errors), abs=1e-12)


def test_hand_counted_ising_errors():
    target = Ising(3, 0.4)
    up, down = torch.ones(2, 9, dtype=torch.uint8), torch.zeros(2, 9, dtype=torch.uint8)
    one_flipped = up.clone()
    one_flipped[:, 4] = 0
    both = lattice_metrics(target, torch.cat((up, up)), torch.cat((up, down)))
    assert both["magnetization_error"] == 1.0
    assert both["abs_magnetization_error"] == both["correlation_error"] == both["energy_w2"] == 0
    assert both["mode_imbalance"] == 0.5 and both["positive_mode_weight"] == 1.0
    # One flipped spin of nine: four broken bonds cost 8; lags 1 and 2 each lose 4 of 18 products
    # twice over.
    flipped = lattice_metrics(target, one_flipped, up)
    assert flipped["energy_w2"] == flipped["energy_error"] == 8.0
    assert flipped["magnetization_error"] == pytest.approx(2 / 9)
    assert flipped["correlation_error"] == pytest.approx((4 / 9 + 4 / 9) / 3)


def test_a_missing_mode_shows_in_the_imbalance():
    target = Potts(4, 4, 2.0)
    modes = torch.arange(3, dtype=torch.uint8).repeat_interleave(16).view(3, 16)
    metrics = lattice_metrics(target, modes, modes)
    assert metrics["mode_imbalance"] == pytest.approx(0.25)
    tie = torch.tensor([[0, 0, 0, 1, 1, 1, 2, 2, 2]], dtype=torch.uint8)
    assert lattice_metrics(Potts(3, 3, 1.0), tie, tie)["mode_imbalance"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("beta", "sweeps", "draws", "spacing", "majority", "correlation", "energy"),
    [
        (0.9, 100, 32, 6, 0.060, 0.056, 132),
        (1.0986, 300, 12, 24, 0.500, 0.408, 275),
        (1.3, 150, 8, 8, 0.688, 0.651, 359),
    ],
)
def test_uniform_spins_against_potts_ground_truth(
    beta, sweeps, draws, spacing, majority, correlation, energy
):
    """Reference values of an independent implementation, to 2 percent plus their rounding."""
    target = Potts(16, 4, beta)
    truth = cluster_samples(target, sweeps, draws, spacing)
    metrics = lattice_metrics(target, uniform(target, len(truth)), truth, replicates=4)
    assert metrics["majority_error"] == pytest.approx(majority, rel=0.02, abs=0.0017)
    assert metrics["magnetization_error"] == metrics["majority_error"]
    assert metrics["correlation_error"] == pytest.approx(correlation, rel=0.02, abs=0.0015)
    assert metrics["energy_w2"] == pytest.approx(energy, rel=0.02)


def test_swendsen_wang_samples_have_kaufmans_energy():
    target = Ising(24, 0.4407)
    samples = cluster_samples(target, 100, 12, 12)
    torus = ising_torus(24, 0.4407)
    statistics = LatticeStatistics.of(target, samples)
    # 1536 draws 12 sweeps apart, tau about 1.1: five standard errors.
    error = 5 * torus.std_energy * math.sqrt(1.2 / len(samples))
    assert abs(float(statistics.energy.mean()) - torus.mean_energy) < error
    assert float(statistics.energy.std()) == pytest.approx(torus.std_energy, rel=0.1)
    assert float(statistics.correlation[:, 1].mean()) == pytest.approx(0.7210, abs=0.006)


def test_floors_are_what_independent_sets_show():
    """Infinite temperature, where exact samples are free and energies have std sqrt(2) L."""
    target = Ising(24, 0.0)
    std = math.sqrt(2) * 24
    metrics = lattice_metrics(target, uniform(target, 4096), uniform(target, 4096, 1))
    # 16 pairs of truly independent sets: their mean scatters by 5 percent, that of 32 replicates by
    # 4. Levels are 4 apart, which puts both above the 0.038 std of Gaussians.
    energies = [target.energy(uniform(target, 4096, 2 + k)) for k in range(32)]
    pairs = zip(energies[::2], energies[1::2], strict=True)
    direct = float(torch.stack([wasserstein2(a, b) for a, b in pairs]).mean())
    assert metrics["energy_w2_floor"] == pytest.approx(direct, rel=0.2)
    assert 0.036 * std < direct < 0.08 * std
    # |difference of means| of 4096: sqrt(2 / pi) sqrt(2 / 4096) std; 32 replicates: 13 percent.
    half_normal = math.sqrt(2 / math.pi) * math.sqrt(2 / 4096)
    assert metrics["energy_error_floor"] == pytest.approx(half_normal * std, rel=0.4)
    assert metrics["magnetization_error_floor"] == pytest.approx(half_normal / 24, rel=0.4)
    # Lags other than 0 and 12: products over 1152 pairs; lag 12 counts its 576 pairs twice.
    per_lag = [0.0] + [1 / math.sqrt(1152)] * 22 + [1 / math.sqrt(576)]
    expected = half_normal * sum(per_lag) / 24
    assert metrics["correlation_error_floor"] == pytest.approx(expected, rel=0.15)
    # And the samples, which are perfect, lie near their floors.
    for name in ("energy_w2", "correlation_error"):
        assert metrics[name] < 2 * metrics[f"{name}_floor"]


def test_each_bootstrap_set_has_its_own_size():
    """Many samples against few true ones scatter like few against many: sqrt(1/B + 1/B')."""
    target = Ising(8, 0.0)
    floors = []
    for n_samples, n_true in ((64, 4096), (4096, 64), (4096, 4096)):
        x, truth = uniform(target, n_samples, 1), uniform(target, n_true, 2)
        floors.append(lattice_metrics(target, x, truth)["magnetization_error_floor"])
    # Means of 32 half-normals: 13 percent each. One set of a wrong size would be 5.7 times off.
    assert floors[1] / floors[0] == pytest.approx(1, rel=0.6)
    assert floors[1] / floors[2] == pytest.approx(5.7, rel=0.6)


def test_order_of_samples_in_one_mode():
    """All up, where the truth is half up and half down: |m| is right, m is not."""
    target = Ising(3, 1.0)
    up = torch.ones(10, 9, dtype=torch.uint8)
    up[:, 0] = 0
    truth = torch.cat((up, 1 - up))
    metrics = lattice_metrics(target, up, truth)
    assert metrics["magnetization"] == metrics["abs_magnetization"] == pytest.approx(7 / 9)
    assert metrics["true_magnetization"] == pytest.approx(0)
    assert metrics["true_abs_magnetization"] == pytest.approx(7 / 9)
    assert metrics["abs_magnetization_error"] == pytest.approx(0)
    assert metrics["mode_imbalance"] == pytest.approx(0.5)
    potts = lattice_metrics(Potts(3, 3, 1.0), up, truth)
    assert potts["majority_fraction"] == potts["true_majority_fraction"] == pytest.approx(8 / 9)


def test_a_wrapped_lattice_is_judged_as_the_lattice():
    """A metered or tempered Ising model still has its spins and energies."""
    target, x = Ising(4, 0.3), uniform(Ising(4, 0.3), 30)
    expected = lattice_metrics(target, x, x[:10])
    for wrapped in (Tempered(target, 0.5), metered(target, Meter())):
        assert lattice_metrics(wrapped, x, x[:10]) == expected


def test_unequal_counts_have_the_floor_of_the_smaller():
    target = Ising(8, 0.0)
    truth = uniform(target, 4096)
    few = lattice_metrics(target, uniform(target, 64, 1), truth)
    many = lattice_metrics(target, uniform(target, 4096, 1), truth)
    ratio = few["magnetization_error_floor"] / many["magnetization_error_floor"]
    # sqrt((1/64 + 1/4096) / (2/4096)) = 5.7.
    assert 3.5 < ratio < 9


def test_bad_input_is_refused():
    ising = Ising(3, 0.3)
    good = uniform(ising, 4)
    with pytest.raises(UserError, match="Tabular"):
        lattice_metrics(Tabular(torch.zeros(2, 2)), good, good)
    with pytest.raises(UserError, match="at least one"):
        lattice_metrics(ising, good[:0], good)
    with pytest.raises(UserError, match="must hold"):
        lattice_metrics(ising, good + 1, good)
    with pytest.raises(UserError, match="shape"):
        lattice_metrics(ising, good, uniform(Ising(4, 0.3), 4))
