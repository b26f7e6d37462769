"""The closed-form posterior of two sites against enumeration of all sites."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.problems.grid import (
    MeanReading,
    NormReading,
    SumReading,
    gaussian_grid,
    grid_prior,
)
from jumpbench.metrics.histogram import hellinger, sampling_floor, total_variation
from oracles import all_states


def test_prior_law():
    grid = [-5 + 10 * j / 49 for j in range(50)]
    weights = torch.tensor([-(g**2) / 8 for g in grid], dtype=torch.float64).exp()
    torch.testing.assert_close(gaussian_grid(), weights / weights.sum())


@pytest.mark.parametrize("n_states", [6, 7])
@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("reading", [SumReading, MeanReading, NormReading])
def test_marginal_is_the_enumerated_one(reading, length, n_states):
    target = reading(length, n_states, width=2.0, observed=1.2, sigma=1.5)
    states = all_states(n_states, length)
    distance = (states - (n_states - 1) / 2).abs().double()
    misfit = {
        SumReading: ((distance - 1.2) ** 2).sum(-1),
        MeanReading: ((distance - 1.2) ** 2).mean(-1),
        NormReading: (distance.sum(-1) - length * 1.2) ** 2,
    }[reading]
    log_likelihood = -misfit / 1.5**2
    weights = target.law.log()[states].sum(-1) + log_likelihood
    marginal = torch.zeros(n_states, n_states, dtype=torch.float64)
    marginal.index_put_((states[:, 0], states[:, 1]), weights.softmax(0), accumulate=True)
    torch.testing.assert_close(target.marginal(), marginal, atol=1e-12, rtol=1e-9)
    found = target.likelihood().log_likelihood(states).double()
    torch.testing.assert_close(found, log_likelihood, atol=1e-5, rtol=1e-5)


def test_published_constants():
    """Four modes at indices 16 and 33; prior to truth 0.644/0.701 (sum), 0.484/0.531 (mean)."""
    truth = SumReading(2).marginal()
    assert divmod(int(truth.argmax()), 50)[0] in (16, 33)
    prior = torch.outer(gaussian_grid(), gaussian_grid())
    for reading, expected in ((SumReading, (0.644, 0.701)), (MeanReading, (0.484, 0.531))):
        law = reading(2).marginal()
        found = float(hellinger(law, prior)), float(total_variation(law, prior))
        assert found == pytest.approx(expected, abs=6e-4)


def test_floor_of_the_default_setting():
    """0.11 and 0.085 (spec 12, item 11) with 10,000 exact draws."""
    truth = SumReading(5).marginal()
    for distance, expected in ((hellinger, 0.110), (total_variation, 0.082)):
        generator = torch.Generator().manual_seed(0)
        assert sampling_floor(distance, truth, 10_000, 32, generator)[0] == pytest.approx(
            expected, abs=0.004
        )


def test_the_prior_is_that_of_the_problem():
    target = SumReading(3, n_states=12, width=1.5)
    prior = grid_prior(target)
    assert (prior.length, prior.n_states) == (3, 12)
    torch.testing.assert_close(prior.law, target.law)


def test_bad_sizes_are_refused():
    with pytest.raises(UserError, match="length"):
        SumReading(1)
