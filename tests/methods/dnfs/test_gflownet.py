"""Trajectory balance: likelihoods by hand, weights without training, a small law learnt."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.normaliser import NormaliserEvaluation
from jumpbench.methods.dnfs.baselines.gflownet import FillingPerceptron, TrajectoryBalance, fill
from jumpbench.samplers.weights import log_normaliser
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.tabular import Tabular
from oracles import generator


def test_every_site_is_filled_and_its_likelihood_counted():
    torch.manual_seed(0)
    network = FillingPerceptron(5, 3, hidden=8)
    calls = []
    network.register_forward_hook(lambda module, args, out: calls.append((args[0].clone(), out)))
    x, log_p = fill(network, 5, 4, generator())
    assert (x >= 0).all() and (x < 3).all() and len(calls) == 5
    expected = torch.zeros(4)
    states = [state for state, _ in calls] + [x]
    for (before, logits), after in zip(calls, states[1:], strict=True):
        changed = (before != after).int()
        assert (changed.sum(1) == 1).all() and (before[changed.bool()] == -1).all()
        site = changed.argmax(1)
        row = logits[torch.arange(4), site].log_softmax(-1)
        expected += row[torch.arange(4), after[torch.arange(4), site]]
    assert torch.allclose(log_p, expected, atol=1e-6)


def test_weights_estimate_log_z_without_training():
    target = Ising(3, 0.15)
    method = TrajectoryBalance(target, partial(FillingPerceptron, hidden=8))
    weights = method.draw_chains(20_000, generator()).log_weights
    log_z, error = log_normaliser(weights)
    assert abs(float(log_z) - enumerate_law(target).log_z) < 4 * float(error)


def test_training_learns_a_small_law():
    target = Tabular(1.5 * torch.randn(2, 2, 2, 2, generator=generator(5)))
    method = TrajectoryBalance(
        target, partial(FillingPerceptron, hidden=64, depth=2),
        partial(torch.optim.Adam, lr=3e-3), 0.1,
        evaluation=NormaliserEvaluation(target),
    )  # fmt: skip
    before = method.draw_chains(2000, generator())
    trainer = Trainer(
        max_steps=2 * 300, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, Numbers())
    trainer.test(method, Numbers(2000, 2000), verbose=False)
    ess = torch.softmax(before.log_weights, 0).square().sum().reciprocal() / 2000
    assert method.results["ess"] > 0.9 > float(ess) + 0.2
    assert float(method.log_z.detach()) == pytest.approx(method.results["exact_log_z"], abs=0.3)


def test_rates_are_checked():
    with pytest.raises(UserError, match="log_z_rate positive"):
        TrajectoryBalance(Ising(3, 0.2), log_z_rate=0.0)
