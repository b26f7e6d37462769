"""Both losses: their minimiser, their numbers at the ends of float32."""

import math

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


class Shift(torch.nn.Module):
    """Raw outputs that do not depend on the counts."""

    def __init__(self, z):
        super().__init__()
        self.z = torch.nn.Parameter(z)

    def forward(self, x, index):
        return self.z


@pytest.mark.parametrize("by_time", [False, True])
def test_the_loss_is_that_of_y_whatever_stands_before_the_softplus(by_time):
    """loss = (y - D log y) / s + D log(s c_k) / s, c_k = 1 or 1 - q_k: the rest has no weights."""
    g = torch.Generator().manual_seed(0)
    model = LostUnits(Shift(torch.randn(20, 3, generator=g)), GRID, 255, 127.5, 30.0, by_time)
    start = torch.randint(0, 256, (20, 3), generator=g)
    x = (start * torch.rand(20, 3, generator=g)).long()
    k = torch.arange(1, 21)
    y = model(x, k).double()
    scale = 30 * (GRID.loss[k] if by_time else torch.ones(20)).double().unsqueeze(1)
    lost = (start - x).double()
    expected = (y - lost * (y / scale).log()).mean(1) / 30
    assert torch.allclose(model.loss(start, x, k).double(), expected, rtol=1e-5, atol=1e-5)


def test_by_time_the_minimiser_is_the_conditional_mean():
    """Every loss' gradient in z, over the enumerated law, vanishes at y = E[D | X]."""
    for k in (1, 5, 10, 20):
        joint = COUNTS.joint(GRID, k).exp()
        y = COUNTS.lost(GRID, k)[:, 0].clamp(min=1e-30)
        share = y / (200 * GRID.loss[k])
        z = (share + (-(-share).expm1()).log()).float()  # softplus(z) = share
        model = LostUnits(Shift(z.expand(9, 9)), GRID, 8, 4.0, 200.0, True)
        x = torch.arange(9).expand(9, 9)
        start = x.T.clamp(min=x)
        at = torch.full((9,), k)
        assert torch.allclose(model(x, at)[0].double(), y, rtol=1e-4, atol=1e-7)
        z = model.network.z.detach().requires_grad_()
        c = GRID.loss[k].float()
        values = c * torch.nn.functional.softplus(z) - (start - x) / 200 * losses.log_softplus(z)
        assert torch.allclose(values.mean(1), model.loss(start, x, at), rtol=1e-4, atol=1e-6)
        (slope,) = torch.autograd.grad((values * joint).sum(), z)
        size = (values.detach().abs() * joint).sum(0)
        assert (slope.sum(0).abs() <= 1e-5 * size + 1e-9).all()


def test_by_time_y_starts_at_the_mean_of_what_is_lost():
    """s = mean / log 2 and z = 0: y = mean (1 - q_k)."""
    model = LostUnits(Shift(torch.zeros(20, 1)), GRID, 255, 127.5, 120.7 / math.log(2), True)
    y = model(torch.zeros(20, 1), torch.arange(1, 21))[:, 0]
    assert torch.allclose(y.double(), 120.7 * GRID.loss[1:], rtol=1e-5, atol=0)


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
