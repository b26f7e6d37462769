"""LEAPS as a method: it learns a target known by log_prob only, and resumes exactly."""

import itertools
import math
from functools import partial

import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.dnfs.module import DNFS
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.locally_equivariant import (
    LocallyEquivariantConvolution,
    LocallyEquivariantPerceptron,
)
from jumpbench.samplers.annealed_jumps import KernelMoves
from jumpbench.samplers.jumps import frozen, jump_law, renormalise
from jumpbench.targets.base import Target, random_states
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from oracles import Ring
from support import quiet_trainer


def small(target, network, **kwargs):
    settings = {
        "free_energy": partial(FreeEnergy, hidden=32, depth=2),
        "optimizer": partial(torch.optim.Adam, lr=5e-3),
        "n_steps": 16,
        "n_chains": 64,
        "batch_size": 128,
        "stored_rollouts": 4,
        "refresh_every": 10,
        "horizon_steps": 150,
        "n_metropolis": 3,
    }
    settings["evaluation"] = TargetEvaluation(target)
    return LEAPS(network=network, target=target, **settings | kwargs)


def exact_law(method):
    """Law of the sampler by products of its transition matrices; no sampling error."""
    truth = enumerate_law(method.target)
    x = truth.states.long()
    law, dt = torch.full((len(x),), 1 / len(x)), 1 / method.n_steps
    sites = torch.arange(x.shape[1]).expand(len(x), -1)
    with torch.no_grad():
        for k in range(method.n_steps):
            flux = method.network(x, torch.full((len(x),), k * dt))
            rule = renormalise if method.target.n_states == 2 else frozen
            jumps, _ = jump_law(dt * flux.relu(), x, rule)
            law = law @ jumps[:, sites, x].prod(-1)
    return 0.5 * (law.double() - truth.probs).abs().sum(), truth


def test_learns_a_users_target(tmp_path):
    """240 steps: the exact total variation falls more than sixfold, the ESS is near one."""
    network = partial(LocallyEquivariantPerceptron, hidden=32)
    method = small(Ring(), network)
    before, truth = exact_law(method)
    run = quiet_trainer(240, tmp_path)
    run.fit(method, Numbers())
    after, _ = exact_law(method)
    assert before > 0.5
    assert after < 0.08
    run.test(method, Numbers(2000, 500), verbose=False)
    assert method.results["n_samples"] == 2000
    assert method.results["network_evaluations"] == 17
    assert method.results["sequential_steps"] == 16
    assert method.results["energy_evaluations"] == 17 * (1 + 5 * 2)
    assert method.results["ess"] > 0.9
    assert abs(method.results["log_z"] - truth.log_z) < 0.05
    assert method.artifacts["samples"].shape == (2000, 5)


class ExactFlux(torch.nn.Module):
    """One site: the mass that p_t gains or loses flows evenly between all pairs of symbols."""

    def __init__(self, target):
        super().__init__()
        self.log_nu = target.log_prob(torch.arange(target.n_states)[:, None])

    def forward(self, x, t):
        law = (t[0] * self.log_nu).softmax(0)
        growth = law * (self.log_nu - (law * self.log_nu).sum())  # d/dt p_t
        flow = (growth[None, :] - growth[:, None]) / len(law)  # from a to b
        return torch.where(flow > 0, flow / law[:, None], flow / law)[x[:, 0]].unsqueeze(1)


class Flat(Target):
    def log_prob(self, x):
        return torch.zeros(x.shape[:-1])


class OneSite(Target):
    def __init__(self):
        super().__init__(1, 2)

    def log_prob(self, x):
        return 1.8 * x[..., 0].double()


@pytest.mark.parametrize("n_metropolis_test", [0, 2])
def test_weights_follow_the_rule_of_dnfs(n_metropolis_test):
    """Exact rates, 20 steps: left ends are off by -dt/2 (E_pi - E_eta) log rho = -0.016 (5 % of it
    for dt^2), trapezoids by less than a thousandth; both are those of DNFS, number for number."""
    target = OneSite()
    settings = {"n_steps": 20, "n_metropolis_test": n_metropolis_test}
    ours = small(target, lambda **_: ExactFlux(target), **settings)
    draws = ours.draw_chains(64, torch.Generator().manual_seed(0))
    moves = ours._moves(n_metropolis_test)
    flow = DNFS(target, lambda **_: ExactFlux(target), n_steps=20, moves=moves)
    same = flow.draw_chains(64, torch.Generator().manual_seed(0))
    assert torch.equal(draws.samples, same.samples)
    assert torch.equal(draws.log_weights, same.log_weights)
    left = draws.extras["left_log_weights"]
    assert torch.equal(left, same.extras["left_log_weights"])
    log_nu = target.log_prob(torch.arange(2)[:, None])
    growth = float((log_nu.softmax(0) * log_nu).sum() - log_nu.mean())
    assert growth > 0.5
    log_z = float(log_nu.logsumexp(0))
    assert (left - log_z + growth / 40).abs().max() < 0.05 * growth / 40
    if n_metropolis_test:
        assert torch.equal(draws.log_weights, left)
    else:
        assert (draws.log_weights - log_z).abs().max() < 1e-3
    assert draws.cost.network_evaluations == 21 and draws.cost.sequential_steps >= 20


class ConstantFlux(torch.nn.Module):
    """0.8 towards every symbol; no equivariance is needed to simulate."""

    def __init__(self, n_states):
        super().__init__()
        self.n_states = n_states

    def forward(self, x, t):
        return torch.full((*x.shape, self.n_states), 0.8)


@pytest.mark.parametrize("n_states, leaves", [(2, 0.8), (3, 1 - math.exp(-1.6))])
def test_a_step_leaves_a_site_as_the_released_step_does(n_states, leaves):
    """Two symbols flip with min(1, dt G); three leave with 1 - exp(-dt sum G), which is 0.798
    where an Euler step would leave for certain. 5 standard errors of 36,000 sites."""
    method = small(Potts(3, n_states, 0.5), lambda **_: ConstantFlux(n_states), n_steps=1)
    generator = torch.Generator().manual_seed(0)
    before = random_states(method.target, (4000,), generator)
    after = method.draw_chains(4000, torch.Generator().manual_seed(0)).samples
    left = after != before
    assert abs(float(left.double().mean()) - leaves) < 5 * (0.16 / left.numel()) ** 0.5
    shift = (after - before)[left] % n_states
    share = float((shift == 1).double().mean())
    assert abs(share - 1 / (n_states - 1)) < 5 * (0.25 / len(shift)) ** 0.5


@pytest.mark.parametrize("lattice", [True, False])
@pytest.mark.parametrize("n_states, moved", [(2, 1.0), (4, 0.75)])
def test_metropolis_moves_are_proposals_counted_as_released(lattice, n_states, moved):
    """1000 proposals are 1000. On a flat law flips always move; of four symbols one in four
    proposals is the current one."""
    target = Potts(3, n_states, 0.0) if lattice else Flat(9, n_states)
    moves = small(target, LocallyEquivariantPerceptron)._moves(1000)
    generator = torch.Generator().manual_seed(1)
    start = random_states(target, (2000,), generator)
    _, cost = moves(target, start, torch.tensor(0.5), generator)
    assert cost.sequential_steps == 1000
    single = KernelMoves(moves.kernel, 1)
    after, _ = single(target, start, torch.tensor(0.5), generator)
    share = float((after != start).any(-1).double().mean())
    assert abs(share - moved) <= 5 * (moved * (1 - moved) / 2000) ** 0.5


def test_convolution_learns_ising(tmp_path):
    network = partial(LocallyEquivariantConvolution, channels=8, kernel_sizes=(3, 3))
    method = small(Ising(3, 0.28), network)
    before, _ = exact_law(method)
    quiet_trainer(160, tmp_path).fit(method, Numbers())
    after, _ = exact_law(method)
    assert before > 0.35
    assert after < 0.08


def test_horizon_and_slots():
    method = small(Ring(), LocallyEquivariantPerceptron, horizon_steps=400, n_steps=20)
    horizons = [method.horizon(step) for step in range(500)]
    assert horizons[0] == 1 and horizons[99] == 10 and horizons[399] == horizons[-1] == 20
    assert all(b - a in (0, 1) for a, b in itertools.pairwise(horizons))
    held = [horizons.count(k) for k in range(1, 20)]
    assert held == sorted(held) and held[0] == 1 and held[9] == 19


def test_stored_points_are_those_of_the_rollouts(tmp_path):
    """Times lie within the horizon, start at 0, and the store is full after as many steps."""
    method = small(Ring(), LocallyEquivariantPerceptron, horizon_steps=0)
    quiet_trainer(5, tmp_path).fit(method, Numbers())
    assert (method.stored_lengths == 17).all()
    assert (method.stored_times[:, 0] == 0).all() and (method.stored_times[:, -1] == 1).all()
    assert (method.stored_times.diff(dim=1) >= 0).all()
    x, t = method._points(2)
    assert x.shape == (128, 5) and x.max() <= 2 and t.min() >= 0 and t.max() <= 1


def state_after(method):
    return {name: value.clone() for name, value in method.state_dict().items()}


def test_resuming_gives_the_uninterrupted_run(tmp_path):
    def make():
        network = partial(LocallyEquivariantPerceptron, hidden=8)
        step_lr = partial(torch.optim.lr_scheduler.StepLR, step_size=7, gamma=0.5)
        return small(Ring(), network, refresh_every=3, horizon_steps=12, scheduler=step_lr)

    whole = make()
    quiet_trainer(20, tmp_path).fit(whole, Numbers())
    first = make()
    run = quiet_trainer(10, tmp_path)
    run.fit(first, Numbers())
    run.save_checkpoint(tmp_path / "half.ckpt")
    second = make()
    quiet_trainer(20, tmp_path).fit(
        second, Numbers(), ckpt_path=tmp_path / "half.ckpt", weights_only=True
    )
    expected, resumed = state_after(whole), state_after(second)
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)


def test_warm_start_takes_the_weights_and_only_at_the_start(tmp_path):
    hot = small(Ring(), LocallyEquivariantPerceptron)
    run = quiet_trainer(3, tmp_path)
    run.fit(hot, Numbers())
    (tmp_path / "hot" / "checkpoints").mkdir(parents=True)
    run.save_checkpoint(tmp_path / "hot" / "checkpoints" / "last.ckpt")
    optimizer = partial(torch.optim.SGD, lr=0.0)
    cold = small(
        Ring(),
        LocallyEquivariantPerceptron,
        warm_start=str(tmp_path / "hot"),
        optimizer=optimizer,
        seed=5,
    )
    quiet_trainer(1, tmp_path).fit(cold, Numbers())
    for a, b in zip(cold.network.parameters(), hot.network.parameters(), strict=True):
        assert torch.equal(a, b)


def test_errors_are_one_line(tmp_path):
    with pytest.raises(UserError, match="must be >= 1"):
        small(Ring(), LocallyEquivariantPerceptron, n_steps=0)
    for moves in ("n_metropolis", "n_metropolis_test"):
        with pytest.raises(UserError, match="must be >= 0"):
            small(Ring(), LocallyEquivariantPerceptron, **{moves: -3})
    missing = small(Ring(), LocallyEquivariantPerceptron, warm_start=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="is missing"):
        quiet_trainer(1, tmp_path).fit(missing, Numbers())

    class Holes(Ring):
        def log_prob(self, x):
            return torch.full(x.shape[:-1], -math.inf)

    with pytest.raises(UserError, match="-inf at"):
        quiet_trainer(1, tmp_path).fit(small(Holes(), LocallyEquivariantPerceptron), Numbers())
