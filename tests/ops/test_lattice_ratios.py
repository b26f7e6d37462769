"""The table of local states gives the plain form's ratios, and these the differences of log nu."""

import pytest
import torch

from jumpbench.ops.lattice_ratios import MOST_SYMBOLS, LocalRatios, plain_ratios


def law(n_states, generator):
    pair = torch.randn(n_states, n_states, generator=generator, dtype=torch.float64)
    field = torch.randn(n_states, generator=generator, dtype=torch.float64)
    return pair + pair.T, field


@pytest.mark.parametrize("size", [3, 4, 7])
@pytest.mark.parametrize("n_states", range(2, MOST_SYMBOLS + 1))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_table_is_the_plain_form(n_states, size, dtype):
    generator = torch.Generator().manual_seed(size + n_states)
    pair, field = law(n_states, generator)
    x = torch.randint(n_states, (5, size, size), generator=generator)
    expected = plain_ratios(x, pair, field)
    ratios = LocalRatios(pair, field, x.device, dtype)
    for states in (x, x.to(torch.uint8), x.transpose(1, 2).contiguous().transpose(1, 2)):
        out = torch.full(expected.shape, torch.nan, dtype=dtype)
        # The sums of five numbers below 20 in another order, rounded once to dtype.
        error = 20 * (5 * torch.finfo(torch.float64).eps + torch.finfo(dtype).eps / 2)
        torch.testing.assert_close(ratios(states, out).double(), expected, rtol=0, atol=error)


@pytest.mark.parametrize("n_states", [2, 3, 6])
def test_the_plain_form_is_a_difference_of_log_nu(n_states):
    generator = torch.Generator().manual_seed(n_states)
    pair, field = law(n_states, generator)
    x = torch.randint(n_states, (4, 4), generator=generator)

    def log_nu(x):
        right, down = x.roll(-1, 1), x.roll(-1, 0)
        return pair[x, right].sum() + pair[x, down].sum() + field[x].sum()

    ratios = plain_ratios(x, pair, field)
    for row, column, symbol in [(0, 0, 1), (1, 3, 0), (3, 2, n_states - 1), (2, 0, 0)]:
        other = x.clone()
        other[row, column] = symbol
        expected = log_nu(other) - log_nu(x)
        assert ratios[row, column, symbol].item() == pytest.approx(expected.item(), abs=1e-12)
