"""NCSN++: published sizes, silence at the start, resampling, layouts and precisions that agree."""

import pytest
import torch
from torch.nn import functional as F

from jumpbench.errors import UserError
from jumpbench.networks.fir import PyramidDown, blur_down, blur_up
from jumpbench.networks.ncsnpp import NCSNpp, time_features

SMALL = {"width": 16, "multipliers": (1, 2, 2), "blocks": 1, "attention": (8,)}


def test_under_bfloat16_large_outputs_keep_their_digits():
    """Around 150 bfloat16 knows the integers: a dozen values where float32 has some 700."""
    torch.manual_seed(0)
    network = NCSNpp(channels=3, size=16, **SMALL).eval()
    torch.nn.init.normal_(network.last.weight, std=0.1)
    torch.nn.init.constant_(network.last.bias, 150.0)
    x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found = network(x, torch.tensor([5]))
    assert found.dtype == torch.float32 and len(found.unique()) > 600
    with torch.no_grad():
        exact = network(x, torch.tensor([5]))
    assert (found - exact).abs().max() < 0.05


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 62_693_251),
        ({"channels": 1}, 62_686_337),
        ({"size": 64}, 62_693_251),
        ({"channels": 1, "size": 16, **SMALL}, 321_921),
        ({"channels": 1, "size": 32, **SMALL, "width": 32}, 1_278_209),
        ({"width": 64, "blocks": 2}, 10_088_003),
    ],
)
def test_number_of_parameters(options, count):
    with torch.device("meta"):
        network = NCSNpp(**options)
    assert sum(p.numel() for p in network.parameters()) == count


def small(**options):
    torch.manual_seed(0)
    return NCSNpp(channels=2, size=16, **(SMALL | options)).eval()


def loud(network):
    """Layers that start silent are given weights, so that every path counts."""
    for name, weight in network.named_parameters():
        if weight.ndim > 1 and weight.abs().max() < 1e-3:
            generator = torch.Generator().manual_seed(len(name))
            torch.nn.init.normal_(weight, std=0.05, generator=generator)
    return network


def batch(n=3):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n, 2, 16, 16, generator=generator), torch.tensor([0, 7, 999])[:n]


def test_output_is_near_zero_at_the_start():
    x, index = batch()
    assert small()(50 * x, index).abs().max() < 1e-4


def test_every_parameter_gets_a_gradient_and_images_stay_apart():
    network, (x, index) = loud(small()), batch()
    out = network(x, index)
    assert out.shape == x.shape
    out.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in network.parameters())
    alone = network(x[1:2], index[1:2])
    assert torch.allclose(alone, out[1:2], atol=1e-5)
    assert not torch.allclose(network(x[1:2], index[:1]), alone, atol=1e-3)


def test_channels_last_agrees():
    x, index = batch()
    plain, last = loud(small()), small(channels_last=True)
    last.load_state_dict(plain.state_dict())
    assert last.first.weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(plain(x, index), last(x, index), atol=1e-4)


def test_bfloat16_agrees_within_its_precision():
    """Relative error of the whole output below 3 percent (bfloat16 has 8 bits)."""
    x, index = batch()
    network = loud(small())
    exact = network(x, index)
    with torch.autocast("cpu", torch.bfloat16):
        rough = network(x, index).float()
    assert (rough - exact).norm() / exact.norm() < 0.03


def test_compiling_agrees():
    """Values and gradients, traced whole; relative error below 1e-4."""
    x, index = batch()
    network = loud(small())

    def results(function):
        network.zero_grad()
        out = function(x, index)
        out.square().sum().backward()
        return [out.detach(), *(p.grad.clone() for p in network.parameters())]

    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    for ours, plain in zip(results(compiled), results(network), strict=True):
        assert (ours - plain).norm() <= 1e-4 * plain.norm()


def test_time_features():
    features = time_features(torch.tensor([3]), 128)[0]
    expected = torch.exp(-torch.arange(64) * torch.log(torch.tensor(1e4)) / 63) * 3
    assert torch.allclose(features, torch.cat([expected.sin(), expected.cos()]), atol=1e-6)


def test_resampling_keeps_a_constant_and_matches_its_definition():
    constant = torch.full((1, 3, 16, 16), 5.0)
    for changed in (blur_up(constant), blur_up(blur_down(constant))):
        assert torch.allclose(changed[..., 3:-3, 3:-3], torch.tensor(5.0))
    x, _ = batch(1)
    taps = torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8
    kernel = taps.outer(taps).expand(2, 1, 4, 4)
    spread = torch.zeros(1, 2, 32, 32)
    spread[..., ::2, ::2] = x
    up = F.conv2d(F.pad(spread, (2, 1, 2, 1)), 4 * kernel, groups=2)
    assert torch.allclose(blur_up(x), up, atol=1e-6)
    down = F.conv2d(F.pad(x, (1, 1, 1, 1)), kernel, groups=2)[..., ::2, ::2]
    assert torch.allclose(blur_down(x), down, atol=1e-6)


@pytest.mark.parametrize("change", [blur_down, blur_up, PyramidDown(torch.nn.Identity())])
def test_a_cpu_resamples_in_float32_under_bfloat16(change, monkeypatch):
    """Results and gradients are those of float32, rounded once; types stay those of the input."""
    made = []
    for name in ("conv2d", "conv_transpose2d"):
        convolve = getattr(F, name)

        def watched(*args, convolve=convolve, **kwargs):
            made.append(convolve(*args, **kwargs))
            return made[-1]

        monkeypatch.setattr(F, name, watched)
    x, _ = batch()
    half = x.bfloat16().requires_grad_()
    exact = x.bfloat16().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = change(half)
    assert [result.dtype for result in made] == [torch.float32]
    wanted = change(exact)
    assert found.dtype == torch.bfloat16 and torch.equal(found, wanted.bfloat16())
    found.backward(torch.ones_like(found))
    wanted.backward(torch.ones_like(wanted))
    assert torch.equal(half.grad, exact.grad.bfloat16())


def test_a_size_that_cannot_be_halved_is_refused():
    with pytest.raises(UserError, match="halved"):
        NCSNpp(size=20, multipliers=(1, 1, 1, 1))
