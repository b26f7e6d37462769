"""MDNS as a method: it learns a target known by log_prob only, and resumes exactly."""

import itertools
from functools import partial

import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.unnormalised.mdns import MDNS
from jumpbench.networks.lattice_transformer import LatticeCorrector
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from oracles import Ring, all_states
from support import quiet_trainer

Perceptron = partial(StatePerceptron, harmonics=None, hidden=64)


def small(target, network=Perceptron, **kwargs):
    settings = {
        "optimizer": partial(torch.optim.AdamW, lr=3e-3, weight_decay=0.0),
        "batch_size": 64,
        "replicates": 4,
    }
    settings["evaluation"] = TargetEvaluation(target)
    return MDNS(network=network, target=target, **settings | kwargs)


@torch.no_grad()
def exact_error(method):
    """Total variation of the sampler's exact law: mass over all partly masked states."""
    network, target = method.average.network, method.target
    length, n = target.length, target.n_states
    states = all_states(n + 1, length)
    law = network(states).softmax(-1)
    powers = (n + 1) ** torch.arange(length - 1, -1, -1)
    n_masked = (states == n).sum(-1)
    mass = torch.zeros(len(states))
    mass[-1] = 1
    for left in range(length, 0, -1):
        here = (n_masked == left).nonzero()[:, 0]
        for site, symbol in itertools.product(range(length), range(n)):
            start = here[states[here, site] == n]
            end = start + (symbol - n) * powers[site]
            mass.index_add_(0, end, mass[start] * law[start, site, symbol] / left)
    final = mass[n_masked == 0].double()
    return 0.5 * (final - enumerate_law(target).probs).abs().sum()


def test_learns_a_users_target(tmp_path):
    """350 steps: the exact total variation falls from 0.5 to 0.11 (one run), log Z within 0.05."""
    method = small(Ring(), batch_size=128, replicates=8)
    before = exact_error(method)
    run = quiet_trainer(350, tmp_path)
    run.fit(method, Numbers())
    assert before > 0.45
    assert exact_error(method) < 0.14
    run.test(method, Numbers(2000, 500), verbose=False)
    assert method.results["n_samples"] == 2000
    assert method.results["network_evaluations"] == method.results["sequential_steps"] == 5
    assert method.results["energy_evaluations"] == 1
    assert method.results["ess"] > 0.8
    assert abs(method.results["log_z"] - enumerate_law(Ring()).log_z) < 0.05
    assert method.artifacts["samples"].shape == (2000, 5)


def test_transformer_learns_ising(tmp_path):
    network = partial(LatticeCorrector, hidden=16, heads=2, blocks=1)
    optimizer = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0)
    method = small(Ising(3, 0.28), network, batch_size=128, optimizer=optimizer)
    before = exact_error(method)
    quiet_trainer(130, tmp_path).fit(method, Numbers())
    assert before > 0.5
    assert exact_error(method) < 0.3


def test_replay_keeps_the_newest_rollouts(tmp_path):
    method = small(Ring(), refresh_every=2, replay=3)
    quiet_trainer(5, tmp_path).fit(method, Numbers())
    assert (method.stored_log_weights != 0).all()
    before = method.stored.clone()
    quiet_trainer(1, tmp_path).fit(method, Numbers())
    assert not torch.equal(method.stored[0], before[0])
    assert torch.equal(method.stored[1:], before[1:])


@pytest.mark.parametrize("replay", [1, 2])
def test_resuming_gives_the_uninterrupted_run(tmp_path, replay):
    def make():
        return small(Ring(), refresh_every=4, replay=replay)

    whole = make()
    quiet_trainer(20, tmp_path).fit(whole, Numbers())
    run, first = quiet_trainer(10, tmp_path), make()
    run.fit(first, Numbers())
    run.save_checkpoint(tmp_path / "half.ckpt")
    second = make()
    quiet_trainer(20, tmp_path).fit(
        second, Numbers(), ckpt_path=tmp_path / "half.ckpt", weights_only=True
    )
    expected, resumed = whole.state_dict(), second.state_dict()
    for name, value in expected.items():
        same = (
            torch.equal(value, resumed[name]) if torch.is_tensor(value) else value == resumed[name]
        )
        assert same, name


def test_warm_start_takes_the_averaged_weights(tmp_path):
    hot = small(Ring())
    run = quiet_trainer(3, tmp_path)
    run.fit(hot, Numbers())
    (tmp_path / "hot" / "checkpoints").mkdir(parents=True)
    run.save_checkpoint(tmp_path / "hot" / "checkpoints" / "last.ckpt")
    optimizer = partial(torch.optim.SGD, lr=0.0)
    cold = small(Ring(), warm_start=str(tmp_path / "hot"), optimizer=optimizer, seed=5)
    quiet_trainer(1, tmp_path).fit(cold, Numbers())
    for a, b in zip(cold.network.parameters(), hot.average.network.parameters(), strict=True):
        assert torch.equal(a, b)


def test_metrics_against_ground_truth_are_logged(tmp_path):
    """True samples as ground truth: every metric arrives under its name, with its floor."""
    target = Ising(3, 0.28)
    law = enumerate_law(target)
    rows = torch.multinomial(law.probs, 500, True, generator=torch.Generator().manual_seed(0))
    torch.save({"samples": law.states[rows]}, tmp_path / "samples.pt")
    method = small(target, evaluation=TargetEvaluation(target, str(tmp_path)))
    run = quiet_trainer(1, tmp_path)
    run.test(method, Numbers(), verbose=False)
    for name in ("energy_w2", "energy_w2_floor", "correlation_error", "magnetization_error"):
        assert method.results[name] >= 0
    # Untrained: about uniform spins, far from the truth at this size.
    assert method.results["energy_w2"] > 3 * method.results["energy_w2_floor"]


def test_errors_are_one_line(tmp_path):
    with pytest.raises(UserError, match="at least 1"):
        small(Ring(), replicates=0)
    with pytest.raises(UserError, match="is missing"):
        quiet_trainer(1, tmp_path).fit(
            small(Ring(), warm_start=str(tmp_path / "nowhere")), Numbers()
        )
