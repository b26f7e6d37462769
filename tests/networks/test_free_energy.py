import torch

from jumpbench.networks.free_energy import FreeEnergy


def test_free_energy_derivative_matches_finite_differences_and_trains():
    torch.manual_seed(9)
    network = FreeEnergy(hidden=16, depth=2).double()
    t = torch.linspace(0, 1, 5, dtype=torch.float64)
    expected = (network(t + 1e-6) - network(t - 1e-6)) / 2e-6
    derivative = network.derivative(t)
    torch.testing.assert_close(derivative, expected, atol=1e-8, rtol=1e-6)
    derivative.sum().backward()
    assert network.layers[0].weight.grad.abs().max() > 0
