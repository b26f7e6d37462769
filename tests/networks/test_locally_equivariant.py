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
    "three symbols 3x3": (lambda: convolution(3, 3, kernel_sizes=(3, 3, 3)), 9, 3),
    "four symbols 5x5": (lambda: convolution(5, 4, kernel_sizes=(3, 5)), 25, 4),
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


@pytest.mark.parametrize("kernel_sizes", [(4,), (3, 5)])
def test_kernels_that_would_see_the_centre_are_refused(kernel_sizes):
    with pytest.raises(ValueError, match="kernel size"):
        convolution(3, 2, kernel_sizes=kernel_sizes)


def test_a_lattice_must_be_square():
    with pytest.raises(ValueError, match="square"):
        LocallyEquivariantConvolution(length=10, n_states=2, kernel_sizes=(3,))
