"""Packed alias tables hold the law they were made from, and draws follow it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.methods.sgdd.site_kernel import SiteKernel, pack_alias


def unpacked(table, n_states):
    """The law that a packed table draws from, from its definition."""
    columns = table.shape[-1]
    bits = columns.bit_length() - 1
    threshold = (table.long() >> bits).double() / 2 ** (31 - bits)
    law = torch.zeros(table.shape, dtype=torch.float64)
    law += threshold / columns
    law.scatter_add_(-1, table.long() & (columns - 1), (1 - threshold) / columns)
    assert bool((law[..., n_states:] == 0).all())
    return law[..., :n_states]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 70), st.integers(0, 10_000), st.sampled_from([0.05, 1.0]))
def test_the_packed_law_is_the_given_one(n_states, seed, concentration):
    weights = torch.distributions.Gamma(concentration, 1.0)
    torch.manual_seed(seed)
    law = weights.sample((5, n_states)).double() + 1e-300
    law[0] = 0
    law[0, seed % n_states] = 1  # a point mass
    law[1] = 1  # uniform
    law /= law.sum(-1, keepdim=True)
    bits = max(1, (n_states - 1).bit_length())
    error = (unpacked(pack_alias(law), n_states) - law).abs().max()
    assert error <= 2.0 ** (bits - 32)


def test_impossible_symbols_are_never_drawn(generator):
    matrix = torch.tensor([[0.0, 0.5, 0.5, 0.0, 0.0]] * 5)
    draws = SiteKernel(matrix)(torch.zeros(400_001, dtype=torch.long), generator)
    assert draws.unique().tolist() == [1, 2]


def test_draws_follow_the_row_of_their_state(generator):
    matrix = torch.rand(50, 50, generator=generator, dtype=torch.float64) ** 3
    matrix /= matrix.sum(-1, keepdim=True)
    kernel = SiteKernel(matrix)
    x = torch.arange(50).repeat(20_000).view(1000, 10, 100)
    draws = kernel(x, generator)
    assert draws.shape == x.shape
    counts = torch.bincount((x * 50 + draws).flatten(), minlength=2500).view(50, 50).double()
    expected = 20_000 * matrix
    z = ((counts - expected) / (expected * (1 - matrix)).sqrt())[expected > 100]
    assert len(z) > 1500
    assert z.abs().max() < 4.5  # of so many, one beyond 4.5 sigma has a chance of 1 %
    assert (z**2).mean() == pytest.approx(1, abs=0.15)  # sd of a mean of 1500 squares: 0.036


def test_a_stack_is_the_same_as_its_parts(generator):
    matrices = torch.rand(3, 7, 7, generator=generator, dtype=torch.float64)
    matrices /= matrices.sum(-1, keepdim=True)
    x = torch.randint(7, (100,), generator=generator)
    for kernel, matrix in zip(SiteKernel.stack(matrices), matrices, strict=True):
        mine, alone = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
        assert torch.equal(kernel(x, mine), SiteKernel(matrix)(x, alone))


@pytest.mark.parametrize("matrix", [torch.ones(2, 2), torch.tensor([[2.0, -1.0], [0.5, 0.5]])])
def test_what_is_not_a_kernel_is_refused(matrix):
    with pytest.raises(ValueError, match="site kernel"):
        SiteKernel(matrix)
