"""Weights of the discrete-time chain: E[w] = Z at every number of steps, by enumeration."""

import itertools
import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.chain_weights import weighted_chains
from jumpbench.methods.dnfs.exact import sampler_law
from jumpbench.methods.dnfs.exact_chain import ExactChainWeights, chain_law
from jumpbench.methods.dnfs.paths import time_grid
from jumpbench.networks.legf import LeGF
from jumpbench.networks.letf import LeTF
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.graphs import Graphs, IndependentSets
from jumpbench.targets.ising import Ising
from methods.dnfs.conftest import Space, TableFlux
from oracles import generator


def grid(n):
    return time_grid(n).double()


def test_mean_weight_is_z_at_every_number_of_steps(bits, random_flux):
    for n in (1, 2, 4, 16, 64):
        assert chain_law(random_flux, bits.target, grid(n)).log_z == pytest.approx(
            bits.log_z(), abs=1e-10
        )
    assert abs(sampler_law(random_flux, bits.target, grid(16)).log_z - bits.log_z()) > 1e-3


def test_mean_weight_of_a_random_network_where_trapezoidal_weights_are_off_by_the_step():
    torch.manual_seed(0)
    target, network = Ising(3, 0.6), LeTF(9, 2, hidden=16, layers=1, heads=2)
    for parameter in network.parameters():
        parameter.data *= 1.5  # rates large enough to matter
    exact = enumerate_law(target).log_z
    biases = []
    for n in (8, 16):
        trapezoid = sampler_law(network, target, time_grid(n))
        biases.append(abs(trapezoid.log_z - exact))
        probe = ExactChainWeights()(network, target, time_grid(n))
        assert probe["chain_log_z_bias"] < 1e-6  # the target's float32
        assert 0 < probe["chain_ess"] < 1
    assert biases[0] > 1e-3
    for coarse, fine in itertools.pairwise(biases):
        assert coarse / fine == pytest.approx(2, abs=0.5)


def by_hand(space, corrector, times):
    """E[w] and E[w^2] over all paths of two steps, each factor from its definition."""

    def step(x, y, k, dt, backward):
        """Chance of x -> y at the rates of time k, forward or going back."""
        t = float(times[k])
        matrix, chance = space.random_matrix(t), 1.0
        log_p = t * space.log_rho
        for i in range(space.length):
            other = x.clone()
            other[i] = 1 - other[i]
            a, b = place(space, x), place(space, other)
            ratio = float((log_p[b] - log_p[a]).exp())
            flux = float(matrix[b, a])
            rate = max(-flux, 0) * ratio if backward else max(flux, 0)
            rate += corrector * min(1, ratio)
            stays = math.exp(-dt * rate)
            chance *= stays if x[i] == y[i] else 1 - stays
        return chance

    first = second = 0.0
    for path in itertools.product(space.states, repeat=3):
        chance, weight = 1 / space.size, float(space.log_rho[place(space, path[2])].exp())
        weight *= space.size
        for k in (0, 1):
            dt = float(times[k + 1] - times[k])
            ahead = step(path[k], path[k + 1], k, dt, backward=False)
            back = step(path[k + 1], path[k], k + 1, dt, backward=True)
            chance, weight = chance * ahead, weight * back / ahead
        first, second = first + chance * weight, second + chance * weight**2
    return first, second


def place(space, x):
    return int((x * (2 ** torch.arange(space.length - 1, -1, -1))).sum())


def test_law_of_the_weights_by_hand():
    space, times = Space(3, 2, seed=3), torch.tensor([0.0, 0.3, 1.0]).double()
    law = chain_law(TableFlux(space, space.random_matrix), space.target, times, corrector=0.7)
    first, second = by_hand(space, 0.7, times)
    assert first == pytest.approx(math.exp(space.log_z()), rel=1e-10)
    assert law.log_z == pytest.approx(space.log_z(), abs=1e-10)
    assert law.ess == pytest.approx(first**2 / second, rel=1e-8)


def test_simulated_weights_are_those_of_the_exact_law(bits, random_flux):
    n, times = 8000, grid(32)
    draws = weighted_chains(random_flux, bits.target, times, n, generator(), corrector=1.0)
    exact = chain_law(random_flux, bits.target, times, corrector=1.0)
    error = math.sqrt((1 / exact.ess - 1) / n)
    assert error < 0.05
    assert abs(float(log_mean_exp(draws.log_weights)) - bits.log_z()) < 4 * error
    assert float(effective_sample_size(draws.log_weights)) == pytest.approx(exact.ess, rel=0.1)
    counts = torch.bincount((draws.samples * torch.tensor([8, 4, 2, 1])).sum(-1), minlength=16)
    chi2 = ((counts - n * exact.law) ** 2 / (n * exact.law)).sum()
    assert chi2 < 45  # 15 degrees of freedom: one in 10,000
    # Weighted, the ends follow the target: each state's share within 4.5 standard errors.
    weights = draws.log_weights.softmax(0)
    for state in range(bits.size):
        hit = ((draws.samples * torch.tensor([8, 4, 2, 1])).sum(-1) == state).double()
        share = float(weights @ hit)
        spread = float((weights.square() @ (hit - share).square()).sqrt())
        assert abs(share - float(bits.law(1.0)[state])) < 4.5 * spread
    assert draws.cost == Cost(33, 33 * (1 + 4), 32)


def test_weights_along_exact_rates_become_equal_as_the_steps_shrink(bits, exact_flux):
    losses = [1 - chain_law(exact_flux, bits.target, grid(n)).ess for n in (64, 128, 256)]
    assert losses[2] < 0.02
    for coarse, fine in itertools.pairwise(losses):
        assert coarse / fine == pytest.approx(2, abs=0.3)


def test_padded_sites_stay_and_count_nowhere():
    """A triangle with a tail, padded from four nodes to six; Z is of sixteen states."""
    torch.manual_seed(1)
    tailed = [(4, [(0, 1), (1, 2), (0, 2), (2, 3)])]
    law = IndependentSets(Graphs.of(tailed, 6), beta=1.5).rows(torch.zeros(6000).long())
    network = LeGF(6, 2, hidden=8, layers=1, heads=2, readout_scale=0.1)
    draws = weighted_chains(network, law, time_grid(5), len(law), generator())
    assert (draws.samples[:, 4:] == 0).all()
    exact = enumerate_law(IndependentSets(Graphs.of(tailed), beta=1.5)).log_z
    error = math.sqrt((1 / float(effective_sample_size(draws.log_weights)) - 1) / len(law))
    assert error < 0.03 and abs(float(log_mean_exp(draws.log_weights)) - exact) < 4 * error


def test_the_corrector_must_be_positive(bits, random_flux):
    with pytest.raises(UserError, match="must be positive"):
        weighted_chains(random_flux, bits.target, grid(4), 8, generator(), corrector=0.0)
    with pytest.raises(UserError, match="must be positive"):
        chain_law(random_flux, bits.target, grid(4), corrector=-1.0)


def test_a_network_that_gives_no_numbers_gives_no_samples(bits):
    class Broken(torch.nn.Module):
        def forward(self, x, t):
            return torch.where(x[..., None] == 1, torch.nan, torch.zeros(*x.shape, 2))

    with pytest.raises(ValueError, match="NaN"):
        weighted_chains(Broken(), bits.target, grid(4), 8, generator())
