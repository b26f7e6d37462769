"""Binomial draws: their law by every route, their types, the ends of the probabilities."""

import pytest
import torch
from scipy.stats import binom, chi2

from jumpbench.ops import binomial as module
from jumpbench.ops.binomial import binomial, terms_of, thinned
from jumpbench.ops.uniforms import fill_uniform_

N = 100_000


@pytest.mark.parametrize("count", [1, 7, 60, 255])
@pytest.mark.parametrize("probability", [1e-4, 0.03, 0.3, 0.9])
@pytest.mark.parametrize("largest", [None, 255])
def test_law(count, probability, largest):
    """Pearson's chi-squared below its 1 - 1e-7 quantile, cells of at least five expected."""
    counts = torch.full((N,), count, dtype=torch.uint8)
    drawn = binomial(counts, probability, torch.Generator().manual_seed(count), largest)
    assert drawn.dtype == torch.uint8
    values = torch.arange(count + 1)
    law = torch.from_numpy(binom.pmf(values.numpy(), count, probability))
    seen = torch.bincount(drawn.long(), minlength=count + 1).double()
    common = law * N > 5
    statistic = float(((seen - law * N) ** 2 / (law * N))[common].sum())
    assert statistic < chi2.ppf(1 - 1e-7, max(int(common.sum()), 1))
    rare = float(law[~common].sum()) * N
    assert seen[~common].sum() < rare + 6 * (rare + 1) ** 0.5


def test_inversion_of_mixed_counts_over_several_chunks():
    """Means by count within five standard errors; never more than there were."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(0, 256, (5, 10_007), generator=generator, dtype=torch.uint8)
    drawn = binomial(counts, 0.03, generator, 255)
    assert drawn.shape == counts.shape and (drawn <= counts).all()
    total, q = counts.double().sum(), 0.03
    assert abs(drawn.double().sum() - total * q) < 5 * (total * q * (1 - q)) ** 0.5
    assert not drawn[counts == 0].any()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
@pytest.mark.parametrize("shape", [(5,), (3, 1_001), (20_000,)])
def test_inversion_is_the_distribution_function_read_backwards(shape, dtype, monkeypatch):
    """By the same uniform numbers as scipy's quantiles, but for those within rounding of a step."""
    counts = torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    uniform = torch.empty(counts.numel())
    fill_uniform_(uniform, torch.Generator().manual_seed(1))
    wide = binomial(counts, 0.03, torch.Generator().manual_seed(1), 255)
    assert wide.dtype == dtype
    n = counts.reshape(-1).numpy()
    ends = ((uniform.double() + eps).clamp(0, 1).numpy() for eps in (-1e-5, 1e-5))
    below, above = (binom.ppf(end, n, 0.03) for end in ends)
    drawn = wide.reshape(-1).numpy()
    assert ((below <= drawn) & (drawn <= above)).all() and (below == above).mean() > 0.99
    monkeypatch.setattr(module, "_CHUNK", 1 << 12)
    assert torch.equal(binomial(counts, 0.03, torch.Generator().manual_seed(1), 255), wide)


@pytest.mark.parametrize("probability", [0.0178, 0.0235, 0.0324, 0.0372])
@pytest.mark.parametrize("short", [2.0**-24, 2.0**-22, 2.0**-20])
def test_the_largest_uniform_numbers_draw_no_more_than_they_should(probability, short, monkeypatch):
    """Rounded distribution functions end below 1; what lies behind is no draw of 28 in 176."""

    def near_one(u, generator=None):
        return u.fill_(1 - short)

    monkeypatch.setattr(module, "fill_uniform_", near_one)
    counts = torch.arange(256, dtype=torch.uint8)
    drawn = binomial(counts, probability, None, 255).numpy()
    n = counts.numpy()
    assert (drawn <= binom.ppf(1 - 1e-9, n, probability)).all()
    assert (drawn >= binom.ppf(1 - 1e-5, n, probability)).all()


def test_ends():
    counts = torch.tensor([[0, 3, 255]], dtype=torch.int32)
    assert torch.equal(binomial(counts, 1.0), counts) and not binomial(counts, 0.0).any()
    assert binomial(counts, 1.0).data_ptr() != counts.data_ptr()
    assert torch.equal(binomial(counts, torch.ones(())), counts)
    assert binomial(counts[:, :0], 0.1, None, 255).shape == (1, 0)


@pytest.mark.parametrize("largest", [None, 255])
def test_a_probability_for_each_image(largest):
    counts = torch.full((3, 50_000), 100, dtype=torch.uint8)
    p = torch.tensor([[0.1], [0.8], [0.02]])
    drawn = binomial(counts, p, torch.Generator().manual_seed(0), largest)
    assert drawn.shape == counts.shape and drawn.dtype == torch.uint8
    expected = torch.tensor([10.0, 80.0, 2.0], dtype=torch.float64)
    assert torch.allclose(drawn.double().mean(1), expected, atol=0.1)
    variance = torch.tensor([9.0, 16.0, 1.96], dtype=torch.float64)
    assert torch.allclose(drawn.double().var(1), variance, rtol=0.05)


def test_thinning_of_bits():
    bits = torch.tensor([0, 1], dtype=torch.uint8).repeat(50_000)
    kept = thinned(bits, 0.3, torch.Generator().manual_seed(0))
    assert kept.dtype == torch.uint8 and not kept[::2].any()
    assert abs(kept[1::2].double().mean() - 0.3) < 5 * (0.21 / 50_000) ** 0.5


def test_terms_cover_all_but_a_negligible_tail():
    for largest, probability in ((255, 0.03), (255, 1e-5), (1, 0.4), (40, 0.2)):
        terms = terms_of(largest, probability)
        assert binom.sf(terms, largest, probability) < 2.0**-26 or terms == largest
