"""Both losses: their minimiser, their numbers at the ends of float32."""

import pytest
import torch

from jumpbench.methods.blackout import losses
from jumpbench.methods.blackout.enumeration import EnumeratedCounts
from jumpbench.methods.blackout.model import LostUnits
from jumpbench.processes.observation_times import FisherTimes

COUNTS = EnumeratedCounts([0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3])
GRID = FisherTimes(20, 15.0)


@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_the_minimiser_is_the_conditional_mean(k):
    """Newton's method on the expectation of y - D log y, in the network's output z."""
    joint = COUNTS.joint(GRID, k).exp()
    lost = (COUNTS.states - COUNTS.states.T).clamp(min=0).double()
    weight = joint.sum(0)
    reachable = weight > 1e-12
    z = torch.zeros(9, dtype=torch.float64, requires_grad=True)
    for _ in range(60):
        y = torch.nn.functional.softplus(z)
        value = (joint * (y - lost * losses.log_softplus(z))).sum(0) / weight.clamp(min=1e-30)
        (slope,) = torch.autograd.grad(value[reachable].sum(), z, create_graph=True)
        (curve,) = torch.autograd.grad(slope.sum(), z)
        z = (z - (slope / curve.clamp(min=1e-6)).clamp(-2, 2)).detach().requires_grad_()
    found = torch.nn.functional.softplus(z).detach()[reachable]
    exact = COUNTS.lost(GRID, k)[:, 0][reachable]
    assert torch.allclose(found, exact, rtol=1e-5, atol=1e-6)


def test_the_gradient_in_y_vanishes_at_the_mean():
    y = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    lost = torch.tensor([1.0, 4.0], dtype=torch.float64)
    (slope,) = torch.autograd.grad((y - lost * y.log()).mean(), y)
    assert abs(slope) < 1e-12


@pytest.mark.parametrize("z", [-120.0, -50.0, -20.001, -19.999, -1.0, 0.0, 30.0, 255.0])
def test_log_softplus(z):
    point = torch.tensor(z, requires_grad=True)
    value = losses.log_softplus(point)
    value.backward()
    exact = torch.tensor(z, dtype=torch.float64)
    exact = exact if z < -30 else torch.log1p(exact.exp()).log() if z < 30 else exact.log()
    assert torch.allclose(value.double(), exact, rtol=1e-6, atol=1e-6)
    assert torch.isfinite(point.grad) and point.grad >= 0


def test_regression_is_finite_where_nothing_is_lost_and_y_underflows():
    z = torch.full((2, 3), -200.0, requires_grad=True)
    lost = torch.tensor([[0, 0, 0], [0, 1, 2]], dtype=torch.uint8)
    value = losses.regression(z, lost)
    value.sum().backward()
    assert value.isfinite().all() and z.grad.isfinite().all()
    assert value[0] == 0 and torch.allclose(value[1], torch.tensor(200.0))


def test_regression_is_a_mean_over_sites_in_float32():
    z = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    lost = torch.ones(2, 3, 4)
    y = torch.nn.functional.softplus(z)
    assert torch.allclose(losses.regression(z, lost), (y - y.log()).mean((1, 2)), atol=1e-6)
    assert losses.regression(z.bfloat16(), lost).dtype == torch.float32


def test_the_networks_input_is_centred_by_the_decayed_mid_grey():
    """X - (M / 2) e^-t and the index k - 1, as the published code has it."""
    seen = {}

    class Network(torch.nn.Module):
        def forward(self, x, index):
            seen.update(x=x, index=index)
            return torch.zeros_like(x)

    model = LostUnits(Network(), GRID, 255)
    x = torch.full((2, 3), 200, dtype=torch.uint8)
    y = model(x, torch.tensor([1, 20]))
    assert seen["index"].tolist() == [0, 19]
    assert torch.allclose(seen["x"][:, 0], 200 - 127.5 * GRID.survival[[1, 20]].float())
    assert torch.allclose(y, torch.tensor(2.0).log())
