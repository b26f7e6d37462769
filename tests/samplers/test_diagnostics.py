import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.diagnostics import (
    autocorrelation,
    integrated_autocorrelation_time,
    rank_normalized,
    split_rhat,
)
from oracles import generator


def autoregressive(phi, chains, n):
    """x_{k+1} = phi x_k + noise, started in its stationary law of variance 1."""
    noise = torch.randn(n, chains, generator=generator(), dtype=torch.float64)
    x = [noise[0]]
    for step in noise[1:]:
        x.append(phi * x[-1] + math.sqrt(1 - phi**2) * step)
    return torch.stack(x, -1)


@pytest.mark.parametrize("phi", [-0.4, 0.0, 0.5, 0.9])
def test_autocorrelation_of_an_autoregressive_chain(phi):
    x = autoregressive(phi, 64, 4000)
    tau = (1 + phi) / (1 - phi)
    rho = autocorrelation(x)
    # Standard error of rho(k) is about sqrt(tau / count); 4 of them.
    error = 4 * math.sqrt(max(tau, 1 / tau) / x.numel())
    expected = phi ** torch.arange(10, dtype=torch.float64)
    torch.testing.assert_close(rho[:10], expected, rtol=0, atol=error)
    # Standard error tau sqrt(2 (2 M + 1) / count), at least that of independent draws.
    window = 5 * max(tau, 1)
    error = 4 * max(tau, 1) * math.sqrt(2 * (2 * window + 1) / x.numel())
    measured = float(integrated_autocorrelation_time(x))
    assert abs(measured - tau) < error + 0.01 * tau


def test_autocorrelation_by_its_definition():
    x = torch.randn(2, 3, 7, generator=generator(), dtype=torch.float64)
    rho = autocorrelation(x)
    deviation = x - x.mean((1, 2), keepdim=True)
    for lag in range(7):
        product = deviation[..., : 7 - lag] * deviation[..., lag:]
        expected = product.mean((1, 2)) / deviation.square().mean((1, 2))
        torch.testing.assert_close(rho[:, lag], expected, rtol=0, atol=1e-12)


def test_split_rhat_by_its_definition():
    x = torch.randn(2, 5, 9, generator=generator(), dtype=torch.float64)
    halves = torch.cat((x[..., :4], x[..., 5:]), 1)
    within = halves.var(-1).mean(-1)
    between = 4 * halves.mean(-1).var(-1)
    expected = ((3 / 4 * within + between / 4) / within).sqrt()
    torch.testing.assert_close(split_rhat(x), expected, rtol=1e-12, atol=0)


def test_split_rhat_sees_disagreement_and_drift():
    x = torch.randn(32, 400, generator=generator(), dtype=torch.float64)
    # Of 64 half chains of 200, B / W scatters by sqrt(2/63) around 1: R-hat within 1 +- 0.002.
    assert abs(float(split_rhat(x)) - 1) < 0.002
    apart = x + 2 * (torch.arange(32) % 2).unsqueeze(-1)
    assert float(split_rhat(apart)) == pytest.approx(math.sqrt(2), rel=0.05)
    drifting = x + torch.linspace(0, 4, 400, dtype=torch.float64)
    assert float(split_rhat(drifting)) > 1.2
    # Chains that each stay where they are: infinite.
    assert split_rhat(torch.arange(4.0).unsqueeze(-1).expand(4, 8)) == torch.inf


def test_rank_normalization():
    x = torch.tensor([[3.0, -1.0], [10.0, 3.0]])
    z = rank_normalized(x)
    # Ranks 2.5, 1, 4, 2.5 of four.
    quantile = (torch.tensor([[2.5, 1.0], [4.0, 2.5]], dtype=torch.float64) - 0.375) / 4.25
    torch.testing.assert_close(z, torch.special.ndtri(quantile))
    heavy = torch.randn(8, 100, generator=generator()).tan()
    torch.testing.assert_close(
        rank_normalized(heavy), rank_normalized(heavy.double().atan() * 3), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("constant", [1.0, 0.1, 1 / 3, -7.3])
def test_constants_count_as_mixed(constant):
    x = torch.full((3, 4, 50), constant, dtype=torch.float64)
    assert torch.equal(integrated_autocorrelation_time(x), torch.ones(3, dtype=torch.float64))
    assert torch.equal(split_rhat(x), torch.ones(3, dtype=torch.float64))


def test_chains_that_never_decay_have_a_long_time():
    x = torch.randn(16, 1, generator=generator(), dtype=torch.float64).expand(16, 32)
    assert float(integrated_autocorrelation_time(x)) > 30


@pytest.mark.parametrize("shape", [(8,), (3, 1)])
def test_too_short_is_refused(shape):
    for diagnostic in (integrated_autocorrelation_time, split_rhat):
        with pytest.raises(UserError, match="shape"):
            diagnostic(torch.zeros(shape))
