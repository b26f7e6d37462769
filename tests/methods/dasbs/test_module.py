"""DASBS end to end on tiny systems: it learns, resumes exactly, and refuses what cannot work."""

from functools import partial
from pathlib import Path

import pytest
import torch
from lightning import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from jumpbench.data.steps import Steps
from jumpbench.errors import UserError
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.methods.dasbs.probes import EnergyLaw, ExactLaw, Quality
from jumpbench.methods.dasbs.sources import ConstantSource
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.targets.base import Target
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts

SMALL = {"pairs": 64, "times": 4, "buffer_size": 256, "refresh_every": 10, "n_steps": 20}


def make(target, memoryless=False, hidden=64, **changes):
    settings = {
        "schedule": ModifiedLogLinear(1.0, 0.0 if memoryless else 0.5),
        "controller": partial(StatePerceptron, hidden=hidden),
        "corrector": None
        if memoryless
        else partial(StatePerceptron, hidden=hidden, harmonics=None),
        "start": 0.01 if memoryless else 0.0,
        "optimizer": partial(torch.optim.AdamW, lr=2e-3, weight_decay=0.0),
        **SMALL,
    }
    return DASBS(target, **(settings | changes))


def train(method, steps, resume=None, checkpoint=None, every=None):
    callbacks = []
    if checkpoint:
        callbacks = [ModelCheckpoint(checkpoint, "last", every_n_train_steps=every, save_top_k=1)]
    trainer = Trainer(
        max_steps=steps,
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=bool(callbacks),
        callbacks=callbacks,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(method, Steps(), ckpt_path=resume)
    return trainer


class Peaks(Target):
    """A user's own law: two peaks, written as one function of integer states."""

    def log_prob(self, x):
        wanted = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 1]], device=x.device)
        return (2.0 * (x.unsqueeze(-2) == wanted).sum(-1)).logsumexp(-1)


def test_samples_a_users_own_energy():
    method = make(
        Peaks(length=4, n_states=3),
        controller_steps=150,
        corrector_steps=50,
        stage_probes=[ExactLaw()],
    )
    before = float(ExactLaw()(method, None)["tv"])
    trainer = train(method, 400)
    trainer.test(method, Steps(2), verbose=False)
    metrics = trainer.callback_metrics
    assert before > 0.5
    assert metrics["test/tv@2"] < 0.15
    assert metrics["test/tv"] == metrics["test/tv@2"]
    assert metrics["test/n_samples"] == 1024
    assert metrics["test/invalid"] < 0.02
    assert 0.3 < metrics["test/jumps_per_site"] < 1.5
    assert method.artifacts["samples"].shape == (1024, 4)
    assert method.artifacts["curves"].keys() == method.curves.keys()


def test_the_shift_decides_whether_three_symbols_are_learned(monkeypatch):
    """Potts with N = 3, where the reversed shift is another thing than the right one."""

    def energy_error():
        method = make(Potts(3, 3, beta=1.005), controller_steps=150, hidden=128)
        train(method, 150)
        law = EnergyLaw(2048)(method, torch.Generator().manual_seed(0))
        return float(law["energy_tv"])

    def reverse(ratios, pole, at):
        index = ((pole + at)[..., None] - torch.arange(3)) % 3
        return ratios.expand(index.shape).gather(-1, index)

    right = energy_error()
    monkeypatch.setattr("jumpbench.methods.dasbs.matching.adjoint_log_target", reverse)
    wrong = energy_error()
    assert right < 0.6
    assert wrong > 0.8


def test_cold_start_from_constant_configurations():
    """Corrector by denoising matching. The untrained law is 0.60 away, stage 1 alone 0.08."""
    method = make(
        Ising(3, 0.6),
        schedule=ModifiedLogLinear(0.25, 0.5),
        source=ConstantSource,
        corrector_matching=DenoisingMatching(),
        controller_steps=150,
        corrector_steps=75,
        stage_probes=[ExactLaw()],
    )
    train(method, 450)
    assert method.curves["tv@2"] < 0.08
    magnetisation = (2 * method.sample(2000, torch.Generator().manual_seed(1)).end - 1.0).mean(1)
    # Both signs are ground states: the mean is 0 up to sampling and training error.
    assert magnetisation.mean().abs() < 0.15


def test_memoryless_training_reports_ess_and_log_z():
    method = make(
        Ising(3, 0.28),
        memoryless=True,
        controller_matching=DenoisingMatching(),
        reweight=True,
        controller_steps=60,
        curve_probes=[Quality(256)],
        curve_every=30,
        n_steps=50,
    )
    trainer = train(method, 60)
    trainer.test(method, Steps(4), verbose=False)
    metrics = trainer.callback_metrics
    assert {"ess@30", "ess@60", "log_z@60"} <= method.curves.keys()
    assert 0 < metrics["test/ess"] < 1
    assert abs(metrics["test/log_z"] - 7.178078) < 5 * metrics["test/log_z_error"] + 0.05


@pytest.mark.parametrize("warm", [False, True])
def test_resumed_training_is_the_uninterrupted_one(tmp_path, warm):
    """Also of a run that starts from another's weights: it takes them once, not at every start."""

    def fresh(**changes):
        return make(
            Ising(3, 0.28),
            hidden=16,
            controller_steps=11,
            corrector_steps=7,
            buffer_size=100,
            refresh_every=4,
            curve_probes=[Quality(64)],
            curve_every=10,
            **(start | changes),
        )

    start = {}
    if warm:
        hot = tmp_path / "hot" / "checkpoints" / "last.ckpt"
        train(fresh(seed=1), 5).save_checkpoint(hot)
        start = {"warm_start": str(tmp_path / "hot")}

    whole = fresh()
    train(whole, 40)
    first, second = fresh(), fresh()
    train(first, 25, checkpoint=tmp_path, every=25)
    train(second, 40, resume=tmp_path / "last.ckpt")
    a, b = whole.state_dict(), second.state_dict()
    assert a.keys() == b.keys()
    for name in a:
        if isinstance(a[name], torch.Tensor):
            assert torch.equal(a[name], b[name]), name
        else:
            assert a[name] == b[name], name
    assert whole.curves == second.curves
    assert len(whole.curves) == 4 * 2


def test_phase_ends_copy_the_average_and_stage_one_needs_no_corrector():
    method = make(Ising(3, 0.28), hidden=8, controller_steps=5, corrector_steps=3)
    asked = []
    forward = method.corrector_average.network.forward
    method.corrector_average.network.forward = lambda *x: asked.append(1) or forward(*x)
    train(method, 8)
    assert not asked
    for network, average in (
        (method.controller, method.controller_average),
        (method.corrector, method.corrector_average),
    ):
        for p, q in zip(network.parameters(), average.network.parameters(), strict=True):
            assert torch.equal(p, q)
    assert method.buffer.size == 64  # the corrector phase emptied it, and drew one batch

    method = make(Ising(3, 0.28), hidden=8, controller_steps=5, corrector_steps=3)
    forward = method.corrector_average.network.forward
    method.corrector_average.network.forward = lambda *x: asked.append(1) or forward(*x)
    train(method, 9)
    assert len(asked) == 1


def test_a_compiler_wraps_every_network_that_is_called():
    wrapped = []

    def compiler(module):
        wrapped.append(type(module).__name__)
        return module.forward

    train(
        make(Ising(3, 0.28), hidden=8, compiler=compiler, controller_steps=2, corrector_steps=2), 6
    )
    assert sorted(wrapped) == ["RampedAverage", "RampedAverage", *["StatePerceptron"] * 2]


class Infinite(Target):
    def log_prob(self, x):
        return x.float().sum(-1).log()  # -inf at the zero state


class TestRefusals:
    def refuse(self, match, error=UserError, target=None, **changes):
        with pytest.raises(error, match=match):
            make(target or Ising(3, 0.28), **changes)

    def test_settings_that_cannot_work(self):
        self.refuse("does not reach every state", source=ConstantSource)
        self.refuse("must be memoryless", corrector=None)
        self.refuse("path weights say nothing", reweight=True)
        self.refuse("only through path weights", controller_matching=DenoisingMatching())
        self.refuse("cannot hold", buffer_size=32)
        self.refuse("must be at least 1", times=0)
        self.refuse("start from the uniform source", memoryless=True, source=ConstantSource)
        self.refuse("infinite noise", ValueError, memoryless=True, start=0.0)
        self.refuse("n_steps >= 1", ValueError, n_steps=0)

    def test_bad_targets_and_rates(self):
        with pytest.raises(UserError, match="size >= 3"):
            Ising(2, 0.28)
        with pytest.raises(ValueError, match="gamma"):
            ModifiedLogLinear(-1.0, 0.5)
        with pytest.raises(ValueError, match="alpha"):
            ModifiedLogLinear(1.0, -0.5)

    def test_an_energy_that_is_not_finite_is_found_before_training(self):
        method = make(Infinite(length=2, n_states=2), hidden=8)
        with pytest.raises(UserError, match="not finite"):
            train(method, 5)
        assert method.global_step == 0


def test_a_warm_start_takes_over_the_averaged_weights(tmp_path):
    settings = {"hidden": 8, "controller_steps": 3, "corrector_steps": 2}
    hot = make(Ising(3, 0.28), **settings)
    trainer = train(hot, 5)
    trainer.save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    still = {"optimizer": partial(torch.optim.SGD, lr=0.0)}
    cold = make(Ising(3, 0.4), seed=1, warm_start=str(tmp_path), **settings | still)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(cold.controller.state_dict(), hot.controller.state_dict())
    train(cold, 5)
    for name in ("controller", "corrector"):
        wanted = getattr(hot, f"{name}_average").network.state_dict()
        torch.testing.assert_close(getattr(cold, name).state_dict(), wanted)
        torch.testing.assert_close(getattr(cold, f"{name}_average").network.state_dict(), wanted)
    with pytest.raises(UserError, match="is missing"):
        train(make(Ising(3, 0.4), warm_start=str(tmp_path / "nowhere"), **settings), 1)


def test_the_example_of_the_readme_runs():
    text = (Path(__file__).parents[3] / "reproduce" / "dasbs" / "README.md").read_text()
    example = text.split("```python\n")[1].split("```")[0]
    assert "max_steps=400" in example
    names = {}
    exec(example.replace("max_steps=400", "max_steps=3"), names)
    assert names["samples"].shape == (4096, 4)
