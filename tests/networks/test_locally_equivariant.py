"""Local equivariance and hollowness of the networks, by brute force over all neighbours."""

import pytest
import torch

from jumpbench.networks.locally_equivariant import (
    LocallyEquivariantConvolution,
    LocallyEquivariantPerceptron,
)
from oracles import neighbours


def convolution(size, n_states, **kwargs):
    return LocallyEquivariantConvolution(size**2, n_states, channels=6, **kwargs)


NETWORKS = {
    "binary 3x3": (lambda: convolution(3, 2, kernel_sizes=(3, 3)), 9, 2),
    "three symbols 3x3": (
        lambda: convolution(3, 3, kernel_sizes=(3, 3, 3), readout_scale=50),
        9,
        3,
    ),
    "four symbols 5x5": (lambda: convolution(5, 4, kernel_sizes=(3, 5), readout_scale=50), 25, 4),
    "binary perceptron": (lambda: LocallyEquivariantPerceptron(7, 2, hidden=16), 7, 2),
    "perceptron, 5 symbols": (lambda: LocallyEquivariantPerceptron(4, 5, hidden=16, depth=3), 4, 5),
}


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("name", NETWORKS)
def test_antisymmetric_under_exchange_of_the_endpoints(name, dtype, tolerance):
    make, length, n_states = NETWORKS[name]
    torch.manual_seed(0)
    network = make().to(dtype)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        x = torch.randint(n_states, (length,), generator=generator)
        t = torch.rand(1, generator=generator, dtype=dtype)
        flux = network(x[None], t)[0]
        y = neighbours(x, n_states).flatten(0, 1)
        back = network(y, t.expand(len(y))).view(length, n_states, length, n_states)
        sites = torch.arange(length)
        reverse = back[sites, :, sites, x]
        scale = flux.abs().max()
        assert scale > 1e-3, "a network that is zero everywhere proves nothing"
        assert (flux + reverse).abs().max() <= tolerance * max(1, scale)
        assert (flux[sites, x] == 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_features_of_a_site_depend_on_every_other_site_only(name):
    make, length, n_states = NETWORKS[name]
    torch.manual_seed(2)
    network = make().double()
    hollow = []
    network.readout.register_forward_pre_hook(lambda _, inputs: hollow.append(inputs[2]))
    x = torch.randint(n_states, (1, length))
    y = x.repeat(length, 1)
    y[range(length), range(length)] = (x[0] + 1) % n_states
    t = torch.full((length + 1,), 0.3, dtype=torch.float64)
    network(torch.cat((x, y)), t)
    change = (hollow[0][1:] - hollow[0][0]).abs().amax(-1)  # changed site, features of site
    assert change.diagonal().abs().max() <= 1e-13
    off = change[~torch.eye(length, dtype=torch.bool)]
    assert (off > 1e-9).all()


def test_first_layer_is_one_circular_convolution_of_all_channels():
    """Against torch's own, its centre set to 0: 20 x 20 x 9 weights, for spins 20 x 9."""
    torch.manual_seed(3)
    for n_states, inputs in ((4, 20), (2, 1)):
        network = LocallyEquivariantConvolution(25, n_states, kernel_sizes=(3,)).double()
        assert network.first.weight.shape == (20, inputs, 3, 3)
        plain = torch.nn.Conv2d(inputs, 20, 3, padding=1, padding_mode="circular", bias=False)
        with torch.no_grad():
            plain.double().weight.copy_(network.first.weight)
            plain.weight[..., 1, 1] = 0
        x, t = torch.randint(n_states, (6, 25)), torch.rand(6, dtype=torch.float64)
        flux = network(x, t)  # before its embeddings are read: the call holds them to norm 1
        features = plain(network.symbols[x].transpose(1, 2).unflatten(-1, (5, 5))).flatten(2)
        weight = network.readout.weight
        score = (1 + t)[:, None, None] * torch.einsum("nc,bcd->bdn", weight, features)
        if n_states == 2:
            score = (1 + t)[:, None, None] * score
        expected = score - score.gather(-1, x[..., None])
        torch.testing.assert_close(flux, expected, atol=1e-12, rtol=1e-9)
        bound = 1 / (3 * inputs**0.5)
        assert 0.9 * bound < network.first.weight.abs().max() <= bound


def test_embeddings_have_norm_one_at_most():
    torch.manual_seed(4)
    long = LocallyEquivariantConvolution(9, 3, kernel_sizes=(3, 3)).double()
    with torch.no_grad():
        long.symbols.div_(long.symbols.norm(dim=1, keepdim=True))
        long.symbols.mul_(torch.tensor([[0.5], [1.0], [1.0]]))
        short = {name: value.clone() for name, value in long.state_dict().items()}
        long.symbols[1:].mul_(3.0)
    x, t = torch.tensor([[0, 1, 2, 0, 1, 2, 1, 1, 0]]), torch.rand(1, dtype=torch.float64)
    flux = long(x, t)
    assert torch.allclose(long.symbols, short["symbols"], atol=1e-6)  # also a symbol unseen is held
    flux.sum().backward()
    assert long.symbols.grad.abs().max() > 0
    long.load_state_dict(short)
    torch.testing.assert_close(long(x, t), flux, atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("kernel_sizes", [(4,), (3, 5)])
def test_kernels_that_would_see_the_centre_are_refused(kernel_sizes):
    with pytest.raises(ValueError, match="kernel size"):
        convolution(3, 2, kernel_sizes=kernel_sizes)


def test_a_lattice_must_be_square():
    with pytest.raises(ValueError, match="square"):
        LocallyEquivariantConvolution(length=10, n_states=2, kernel_sizes=(3,))
