"""LEAPS as a method: it learns a target known by log_prob only, and resumes exactly."""

import itertools
import math
from functools import partial

import pytest
import torch

from jumpbench.data.steps import Steps
from jumpbench.errors import UserError
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.locally_equivariant import (
    LocallyEquivariantConvolution,
    LocallyEquivariantPerceptron,
)
from jumpbench.samplers.jumps import jump_law, renormalise
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
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
        "chains_per_batch": 500,
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
            jumps, _ = jump_law(dt * flux.relu(), x, renormalise)
            law = law @ jumps[:, sites, x].prod(-1)
    return 0.5 * (law.double() - truth.probs).abs().sum(), truth


def test_learns_a_users_target(tmp_path):
    """400 steps: the exact total variation falls more than sixfold, the ESS is near one."""
    network = partial(LocallyEquivariantPerceptron, hidden=32)
    method = small(Ring(), network)
    before, truth = exact_law(method)
    run = quiet_trainer(400, tmp_path)
    run.fit(method, Steps())
    after, _ = exact_law(method)
    assert before > 0.5
    assert after < 0.08
    run.test(method, Steps(n_test_batches=4), verbose=False)
    assert method.results["n_samples"] == 2000
    assert method.results["network_evaluations"] == method.results["sequential_steps"] == 16
    assert method.results["energy_evaluations"] == 2 * 16
    assert method.results["ess"] > 0.9
    # The left-end weights are low by O(1 / n_steps); 0.15 is the size seen at 16 steps.
    assert abs(method.results["log_z"] - truth.log_z) < 0.25
    assert method.artifacts["samples"].shape == (2000, 5)


def test_convolution_learns_ising(tmp_path):
    network = partial(LocallyEquivariantConvolution, channels=8, kernel_sizes=(3, 3))
    method = small(Ising(3, 0.28), network)
    before, _ = exact_law(method)
    quiet_trainer(250, tmp_path).fit(method, Steps())
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
    quiet_trainer(5, tmp_path).fit(method, Steps())
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
    quiet_trainer(20, tmp_path).fit(whole, Steps())
    first = make()
    run = quiet_trainer(10, tmp_path)
    run.fit(first, Steps())
    run.save_checkpoint(tmp_path / "half.ckpt")
    second = make()
    quiet_trainer(20, tmp_path).fit(
        second, Steps(), ckpt_path=tmp_path / "half.ckpt", weights_only=True
    )
    expected, resumed = state_after(whole), state_after(second)
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)


def test_warm_start_takes_the_weights_and_only_at_the_start(tmp_path):
    hot = small(Ring(), LocallyEquivariantPerceptron)
    run = quiet_trainer(3, tmp_path)
    run.fit(hot, Steps())
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
    quiet_trainer(1, tmp_path).fit(cold, Steps())
    for a, b in zip(cold.network.parameters(), hot.network.parameters(), strict=True):
        assert torch.equal(a, b)


def test_errors_are_one_line(tmp_path):
    with pytest.raises(UserError, match="must be >= 1"):
        small(Ring(), LocallyEquivariantPerceptron, n_steps=0)
    missing = small(Ring(), LocallyEquivariantPerceptron, warm_start=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="is missing"):
        quiet_trainer(1, tmp_path).fit(missing, Steps())

    class Holes(Ring):
        def log_prob(self, x):
            return torch.full(x.shape[:-1], -math.inf)

    with pytest.raises(UserError, match="not finite"):
        quiet_trainer(1, tmp_path).fit(small(Holes(), LocallyEquivariantPerceptron), Steps())
