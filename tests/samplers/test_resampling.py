import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.samplers import resampling
from jumpbench.samplers.resampling import multinomial, normalised, residual, systematic, take

SCHEMES = [systematic, multinomial, residual]
WEIGHTS = torch.tensor([0.05, 0.4, 0.0, 0.3, 0.25], dtype=torch.float64)


def rng():
    return torch.Generator().manual_seed(0)


def copies(ancestors, size):
    return torch.nn.functional.one_hot(ancestors, size).sum(1)


def test_systematic_is_unbiased_integrating_over_its_uniform(monkeypatch):
    """u on a midpoint grid of R: mean copies M w, each step of the count resolved to 1/R."""
    grid = 10_000
    u = (torch.arange(grid, dtype=torch.float64) + 0.5)[:, None] / grid
    monkeypatch.setattr(resampling, "_uniforms", lambda *_: u)
    mean = copies(systematic(WEIGHTS.log().expand(grid, 5)), 5).double().mean(0)
    torch.testing.assert_close(mean, 5 * WEIGHTS, rtol=0, atol=2 / grid)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_mean_copies_are_proportional_to_the_weights(scheme):
    """Each particle within 5 standard errors over 20000 systems; weight 0 never survives."""
    rows = 20_000
    shifted = WEIGHTS.log() + torch.linspace(-800, 800, rows, dtype=torch.float64)[:, None]
    counts = copies(scheme(shifted, rng()), 5).double()
    error = counts.std(0) / rows**0.5
    assert ((counts.mean(0) - 5 * WEIGHTS).abs() <= 5 * error + 1e-12).all()


def test_noise_of_the_schemes_is_ordered():
    spread = [copies(s(WEIGHTS.log().expand(4000, 5), rng()), 5).double().var(0) for s in SCHEMES]
    systematic_, multinomial_, residual_ = (value.sum().item() for value in spread)
    assert systematic_ < residual_ < multinomial_
    expected = (5 * WEIGHTS * (1 - WEIGHTS)).sum().item()
    assert multinomial_ == pytest.approx(expected, rel=0.1)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=12),
    st.integers(0, 2**31),
)
def test_copies_are_at_least_the_integer_part(log_weights, seed):
    log_weights = torch.tensor([log_weights])
    size = log_weights.shape[1]
    generator = torch.Generator().manual_seed(seed)
    expected = size * normalised(log_weights)[0]
    for scheme in (systematic, residual):
        ancestors = scheme(log_weights, generator)
        assert ancestors.shape == (1, size)
        counts = copies(ancestors, size)[0]
        assert (counts >= (expected - 1e-6).floor()).all()
        if scheme is systematic:
            assert (counts <= (expected + 1e-6).ceil()).all()


@pytest.mark.parametrize("scheme", [systematic, residual])
def test_equal_or_lost_weights_keep_every_particle(scheme):
    log_weights = torch.tensor([[0.3] * 4, [-torch.inf] * 4])
    expected = torch.arange(4).expand(2, 4)
    assert torch.equal(scheme(log_weights, rng()).sort(-1).values, expected)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers_are_refused(scheme, bad):
    with pytest.raises(ValueError, match=r"NaN or \+inf"):
        scheme(torch.tensor([[bad, 0.0, 0, 0]]), rng())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_single_heavy_particle_takes_all(scheme):
    log_weights = torch.full((3, 6), -torch.inf)
    log_weights[torch.arange(3), torch.tensor([0, 3, 5])] = 1e4
    expected = torch.tensor([[0], [3], [5]]).expand(3, 6)
    assert torch.equal(scheme(log_weights, rng()), expected)


def test_take_gathers_within_each_system():
    particles = torch.arange(12).reshape(2, 3, 2)
    taken = take(particles, torch.tensor([[2, 2, 0], [1, 0, 0]]))
    assert taken[0].tolist() == [[4, 5], [4, 5], [0, 1]]
    assert taken[1].tolist() == [[8, 9], [6, 7], [6, 7]]
