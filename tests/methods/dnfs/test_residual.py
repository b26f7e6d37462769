"""The one-pass residual against matrices written out, and the identities behind it."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.annealed_path import (
    check_positive,
    control_integrand,
    incoming_flow,
    probability_flow,
    slope_of,
)
from jumpbench.targets.base import Target
from jumpbench.targets.tabular import Tabular

TIMES = (0.0, 0.37, 1.0)


def integrand(space, matrix, t, clamp=None):
    slope = slope_of(space.target, space.states)
    times = torch.full((space.size,), t, dtype=torch.float64)
    return control_integrand(slope, times, space.flux_of(matrix), clamp)


def rate_matrix(off_diagonal):
    """[to, from] with columns that sum to zero: the diagonal carries the minus sign."""
    return off_diagonal - off_diagonal.sum(0).diag()


@pytest.mark.parametrize("t", TIMES)
def test_one_pass_equals_the_full_matrix(space, t):
    matrix = space.random_matrix(t)
    p = space.law(t)
    rates = rate_matrix(matrix.relu())
    full = space.slope - (rates @ p) / p
    assert (integrand(space, matrix, t) - full).abs().max() < 1e-12


@pytest.mark.parametrize("t", TIMES)
def test_mean_under_the_path_is_the_derivative_of_log_z_for_any_flux(space, t):
    xi = integrand(space, space.random_matrix(t), t)
    assert xi.std() > 1
    assert abs(space.law(t) @ xi - space.d_log_z(t)) < 1e-12
    if 0 < t < 1:
        step = 1e-5
        difference = (space.log_z(t + step) - space.log_z(t - step)) / (2 * step)
        assert abs(difference - space.d_log_z(t)) < 1e-8


def test_another_law_gives_another_mean_for_a_random_flux(space):
    xi = integrand(space, space.random_matrix(0.5), 0.5)
    assert abs(xi.mean() - space.d_log_z(0.5)) > 0.1


@pytest.mark.parametrize("t", TIMES)
def test_the_exact_flow_has_no_residual(space, t):
    matrix = space.exact_matrix(t)
    flux = space.flux_of(matrix)
    p = space.law(t)
    change = p * (space.slope - space.d_log_z(t))
    assert (rate_matrix(matrix.relu()) @ p - change).abs().max() < 1e-14
    xi = integrand(space, matrix, t)
    assert (xi - space.d_log_z(t)).abs().max() < 1e-11
    assert flux.abs().max() > 0.1


def test_control_variate_of_the_exact_flow_has_correlation_plus_one(space):
    matrix = space.exact_matrix(0.5)
    control = space.slope - integrand(space, matrix, 0.5)
    pair = torch.stack((space.slope, control))
    assert torch.corrcoef(pair)[0, 1] == pytest.approx(1.0, abs=1e-10)
    assert torch.cov(pair)[0, 1] / control.var() == pytest.approx(1.0, abs=1e-10)


def test_one_way_rates_move_probability_as_the_two_way_rates_do(space):
    """Proposition 1, with the minus sign of the diagonal."""
    p = space.law(0.6)
    rates = space.noise.exp() * space.near
    one_way = (rates - rates.T * (p[:, None] / p[None, :])).relu()
    assert ((one_way > 0) & (one_way.T > 0)).sum() == 0
    assert (rate_matrix(rates) @ p - rate_matrix(one_way) @ p).abs().max() < 1e-15


def test_clamp_bounds_the_ratios_from_above_only():
    flux = torch.tensor([[[0.0, -2.0], [0.0, -1.0]]])
    ratios = torch.tensor([[[0.0, 9.0], [0.0, -9.0]]])
    flow = probability_flow(flux, ratios, clamp=5.0)
    expected = -2 * torch.tensor(5.0).exp() - torch.tensor(-9.0).exp()
    assert torch.allclose(flow, expected)


def test_ratios_beyond_float32_count_only_where_something_flows_in():
    """exp(200) overflows: 0 times infinity is 0 here, in value and in gradient."""
    ratios = torch.tensor([[[0.0, 200.0], [0.0, 1.0]]])
    flux = torch.tensor([[[0.0, 3.0], [0.0, -1.0]]], requires_grad=True)
    flow = probability_flow(flux, ratios)
    flow.sum().backward()
    assert flow.item() == pytest.approx(3 - math.e)
    assert flux.grad[0, 0, 1] == 1 and flux.grad[0, 1, 1].item() == pytest.approx(math.e)
    assert torch.equal(incoming_flow(-flux, ratios)[0, 1], torch.zeros(2))
    assert incoming_flow(-flux, ratios)[0, 0, 1].isinf()


def test_a_target_that_excludes_states_is_refused():
    table = torch.zeros(2, 2, 2)
    table[0, 0, 0] = -torch.inf
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(UserError, match=r"-inf at|excludes"):
        check_positive(Tabular(table), generator)


def test_a_target_that_is_not_finite_is_named():
    class Broken(Target):
        def log_prob(self, x):
            return torch.where(x.sum(-1) > 1, torch.nan, 0.0)

    with pytest.raises(UserError, match=r"Broken\.log_prob is nan at"):
        check_positive(Broken(5, 2), torch.Generator().manual_seed(0))
