"""The Gaussian diffusion of the figures: its densities, conditional means and way back."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.blackout.gaussian import CosineDiffusion, DequantisedLaw

LAW = torch.tensor([0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3], dtype=torch.float64)


def test_the_schedule_is_the_cosine_until_its_last_step():
    diffusion = CosineDiffusion(1000)
    share = torch.arange(1000, dtype=torch.float64) / 1000
    cosine = ((share + 0.008) / 1.008 * torch.pi / 2).cos().square()
    torch.testing.assert_close(diffusion.signal[:-1], cosine / cosine[0])
    assert diffusion.beta[-1] == 0.999 and diffusion.signal[-1] < 1e-7
    with pytest.raises(UserError, match="at least two"):
        CosineDiffusion(1)


@pytest.mark.parametrize("k", [1, 20, 60, 99])
def test_density_and_mean_are_integrals_over_the_start(k):
    """A fine grid of starts: midpoints of 2048 a count are exact to 1e-4 at these spreads."""
    diffusion = CosineDiffusion(100)
    law = DequantisedLaw(LAW, diffusion)
    starts = 2 * (torch.arange(9 * 2048, dtype=torch.float64) + 0.5) / (9 * 2048) - 1
    weight = LAW.repeat_interleave(2048) / 2048
    x = torch.linspace(-1.5, 1.5, 31, dtype=torch.float64)
    signal = diffusion.signal[k]
    spread = (1 - signal).sqrt()
    at = (x[:, None] - signal.sqrt() * starts) / spread
    joint = weight * torch.exp(-at.square() / 2) / ((2 * torch.pi) ** 0.5 * spread)
    torch.testing.assert_close(law.density(x, k), joint.sum(1), rtol=1e-4, atol=1e-9)
    likely = joint.sum(1) > 1e-6
    mean = (joint @ starts)[likely] / joint.sum(1)[likely]
    torch.testing.assert_close(law.start(x, k)[likely], mean, rtol=0, atol=2e-3)


def test_going_back_with_the_mean_recovers_the_law():
    """Total variation of 20,000 paths' counts below 0.02; sampling noise is about 0.007."""
    diffusion = CosineDiffusion(300)
    law = DequantisedLaw(LAW, diffusion)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(20_000, generator=generator, dtype=torch.float64)
    for k in range(300, 0, -1):
        x = diffusion.back(x, law.start(x, k), k, generator)
    counts = ((x + 1) * 4.5).long().clamp(0, 8)
    found = torch.bincount(counts, minlength=9).double() / len(x)
    assert 0.5 * (found - LAW).abs().sum() < 0.02
    noised = diffusion.noised(law.sample(20_000, generator), 210, generator)
    mean = float(diffusion.signal[210].sqrt() * ((2 * torch.arange(9) + 1) / 9 - 1).double() @ LAW)
    assert abs(noised.mean() - mean) < 5 * float(noised.std()) / 20_000**0.5
