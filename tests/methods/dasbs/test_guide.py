"""The guided controller: its formula, the corrector it holds, what it costs."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.methods.dasbs.sources import ConstantSource
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.targets.ising import Ising

TARGET = Ising(3, 0.4)
X = torch.randint(2, (7, 9), generator=torch.Generator().manual_seed(1))
T = torch.linspace(0, 1, 7)


def guided(**changes):
    matcher = partial(
        Matcher, optimizer=partial(torch.optim.AdamW, lr=1e-2), pairs=16, times=2, buffer_size=32,
        refresh_every=2,
    )  # fmt: skip
    network = partial(StatePerceptron, hidden=8)
    return DASBS(
        TARGET,
        schedule=ModifiedLogLinear(1.0, 0.5),
        controller=partial(matcher, network=network, steps=4),
        corrector=partial(
            matcher, network=partial(network, harmonics=None), steps=3, matching=DenoisingMatching()
        ),
        source=ConstantSource,
        n_steps=5,
        guided=True,
        **changes,
    )


def train(method, steps, resume=None):
    trainer = Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, Numbers(), ckpt_path=resume)
    return trainer


@torch.no_grad()
def formula(method, corrector):
    """t (log nu-ratios - log Phihat) + (1 - t) network, written out."""
    t = T.view(-1, 1, 1)
    aim = TARGET.neighbor_log_ratios(X) - corrector
    return t * aim + (1 - t) * method.controller.average(X, T)


@torch.no_grad()
def test_stage_one_has_the_constant_corrector_and_later_stages_the_one_they_began_with():
    method = guided()
    train(method, 6)  # stage 1, amid its corrector phase
    torch.testing.assert_close(method.log_control(X, T), formula(method, 0.0))
    method = guided()
    train(method, 7)
    first = method.corrector.average(X)
    assert first.abs().max() > 0.05
    method = guided()
    train(method, 13)  # stage 2, amid its corrector phase
    assert (method.corrector.average(X) - first).abs().max() > 1e-3
    torch.testing.assert_close(method.log_control(X, T), formula(method, first))


@torch.no_grad()
def test_a_warm_start_guides_with_the_loaded_corrector_from_the_first_step(tmp_path):
    hot = guided()
    train(hot, 7).save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    warm = guided(seed=3, warm_start=str(tmp_path))
    train(warm, 2)
    loaded = hot.corrector.average(X)
    torch.testing.assert_close(warm.log_control(X, T), formula(warm, loaded))


def test_a_stopped_training_goes_on_with_its_corrector(tmp_path):
    whole, first, second = guided(), guided(), guided()
    train(whole, 16)
    train(first, 12).save_checkpoint(tmp_path / "last.ckpt")
    train(second, 16, tmp_path / "last.ckpt")
    torch.testing.assert_close(second.log_control(X, T), whole.log_control(X, T), rtol=0, atol=0)


@pytest.mark.parametrize(("steps", "evaluations"), [(6, 5), (9, 10)])
def test_a_path_costs_the_energy_and_from_stage_two_on_the_corrector(steps, evaluations):
    method = guided()
    train(method, steps)
    cost = method.sample(8, torch.Generator().manual_seed(0)).cost
    tables = 5 * (1 + 9)  # of 3x3 spins, one at each of five time steps
    assert (cost.network_evaluations, cost.energy_evaluations) == (evaluations, tables)


def test_what_guides_is_not_trained():
    method = guided()
    train(method, 8)
    before = [p.clone() for p in method.guide.parameters()]
    assert before and not any(p.requires_grad for p in method.guide.parameters())
    trained = {
        id(p) for o in method.configure_optimizers() for g in o.param_groups for p in g["params"]
    }
    assert not trained & {id(p) for p in method.guide.parameters()}
