"""The lattice transformers: parameter counts, rotary geometry, symmetry, precision."""

import pytest
import torch

from jumpbench.networks.lattice_transformer import (
    LatticeController,
    LatticeCorrector,
    MixedRotary,
    RotaryAttention,
)


@pytest.mark.parametrize(
    ("size", "n_states", "blocks", "controller", "corrector"),
    [
        (24, 2, 6, 144_386, 95_362),
        (16, 4, 6, 134_276, 85_252),
        (24, 2, 4, 106_242, 69_762),
        (8, 3, 4, 89_923, 53_443),
    ],
)
def test_parameter_counts(size, n_states, blocks, controller, corrector):
    def count(network):
        return sum(p.numel() for p in network(size**2, n_states, blocks=blocks).parameters())

    assert count(LatticeController) == controller
    assert count(LatticeCorrector) == corrector


def test_rotary_starts_with_the_stated_magnitudes_along_orthogonal_directions():
    torch.manual_seed(0)
    frequencies = MixedRotary(size=5, heads=3, head_dim=8).frequencies
    assert frequencies.shape == (2, 3, 4)
    magnitude = torch.tensor([1.0, 10**-0.5, 1.0, 10**-0.5]).expand(3, 4)
    torch.testing.assert_close(frequencies.norm(dim=0), magnitude)
    first, second = frequencies[..., :2], frequencies[..., 2:]
    assert (first * second).sum(0).abs().max() < 1e-6


def test_scores_depend_on_the_displacement_only():
    torch.manual_seed(1)
    size = 5
    rotary = MixedRotary(size, heads=2, head_dim=8)
    q, k = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 1, 8)
    everywhere = (1, 2, size * size, 8)
    q, k = rotary(q.expand(everywhere), k.expand(everywhere))
    scores = (q @ k.transpose(-1, -2)).view(2, size, size, size, size)
    torch.testing.assert_close(scores[:, 1, 1, 3, 2], scores[:, 0, 2, 2, 3])
    assert (scores[:, 1, 1, 3, 2] - scores[:, 1, 1, 2, 3]).abs().max() > 1e-3


def test_attention_is_the_textbook_formula():
    torch.manual_seed(2)
    layer = RotaryAttention(size=3, hidden=16, heads=2)
    z = torch.randn(4, 9, 16)
    q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in layer.qkv(z).chunk(3, -1))
    q, k = layer.rotary(q, k)
    mixed = ((q @ k.transpose(-1, -2)) / 8**0.5).softmax(-1) @ v
    expected = layer.projection(mixed.transpose(1, 2).reshape(4, 9, 16))
    torch.testing.assert_close(layer(z), expected)


def test_outputs_are_float32_and_close_under_bfloat16():
    torch.manual_seed(3)
    controller, corrector = LatticeController(16, 3, blocks=2), LatticeCorrector(16, 3, blocks=2)
    x, t = torch.randint(3, (6, 16)), torch.rand(6)
    plain = controller(x, t), corrector(x)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = controller(x, t), corrector(x)
    for a, b in zip(plain, mixed, strict=True):
        assert a.shape == (6, 16, 3)
        assert b.dtype == torch.float32
        assert (a - b).abs().max() < 0.05


def test_gradients_reach_every_parameter_and_time_matters():
    torch.manual_seed(4)
    controller = LatticeController(9, 2, blocks=1)
    x = torch.randint(2, (3, 9))
    controller(x, torch.rand(3)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in controller.parameters())
    difference = controller(x, torch.full((3,), 0.1)) - controller(x, torch.full((3,), 0.9))
    assert difference.abs().max() > 1e-3


def test_a_masked_model_reads_one_symbol_more():
    network = LatticeCorrector(9, 2, blocks=1, n_inputs=3)
    assert network(torch.full((2, 9), 2)).shape == (2, 9, 2)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="square number of sites"):
        LatticeController(10, 2)
    with pytest.raises(ValueError, match="multiple of 4"):
        LatticeController(9, 2, hidden=24, heads=4)
