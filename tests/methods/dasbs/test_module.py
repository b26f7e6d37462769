"""DASBS end to end on tiny systems: it learns, and refuses what cannot work."""

from inspect import signature
from pathlib import Path

import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.methods.dasbs.probes import (
    AtStageEnds,
    Every,
    ExactTotalVariation,
    ModeBalance,
    Quality,
)
from jumpbench.methods.dasbs.sources import ConstantSource
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.targets.base import Target
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from methods.dasbs.small import make, train


class Peaks(Target):
    """A user's own law: two peaks, written as one function of integer states."""

    def log_prob(self, x):
        wanted = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 1]], device=x.device)
        return (2.0 * (x.unsqueeze(-2) == wanted).sum(-1)).logsumexp(-1)


def test_samples_a_users_own_energy():
    method = make(
        Peaks(length=4, n_states=3),
        steps=(90, 30),
        probes=[AtStageEnds(ExactTotalVariation())],
    )
    before = float(ExactTotalVariation()(method, None)["tv"])
    trainer = train(method, 240)
    trainer.test(method, Numbers(1024), verbose=False)
    metrics = method.results
    assert before > 0.5
    assert metrics["tv@2"] < 0.15
    assert metrics["tv"] == metrics["tv@2"]
    assert metrics["n_samples"] == 1024
    assert metrics["network_evaluations"] == metrics["sequential_steps"] == 20
    assert metrics["energy_evaluations"] == 0
    assert metrics["invalid"] < 0.02
    assert 0.3 < metrics["jumps_per_site"] < 1.5
    assert method.artifacts["samples"].shape == (1024, 4)
    assert method.artifacts["curves"].keys() == method.curves.keys()


def test_the_shift_decides_whether_three_symbols_are_learned(monkeypatch):
    """Potts with N = 3, where the reversed shift is another thing than the right one."""

    def energy_error():
        target = Potts(3, 3, beta=1.005)
        evaluation = TargetEvaluation(target, exact_energies=True)
        method = make(target, steps=(110, 1), hidden=128, evaluation=evaluation)
        train(method, 110)
        return Quality(2048)(method, torch.Generator().manual_seed(0))["energy_tv"]

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
        corrector={"matching": DenoisingMatching()},
        steps=(150, 75),
        probes=[AtStageEnds(ExactTotalVariation())],
    )
    train(method, 450)
    assert method.curves["tv@2"] < 0.08
    magnetisation = (2 * method.sample(2000, torch.Generator().manual_seed(1)).samples - 1.0).mean(
        1
    )
    # Both signs are ground states: the mean is 0 up to sampling and training error.
    assert magnetisation.mean().abs() < 0.15


def test_the_balance_of_modes_at_stage_ends():
    """Short paths from constant configurations stay in the mode of their start."""
    method = make(
        Ising(3, 0.6),
        hidden=8,
        schedule=ModifiedLogLinear(0.01, 0.5),
        source=ConstantSource,
        corrector={"matching": DenoisingMatching()},
        steps=(2, 1),
        probes=[AtStageEnds(ModeBalance(600), when_tested=False)],
    )
    trainer = train(method, 6)
    trainer.test(method, Numbers(512), verbose=False)
    curves = method.curves
    assert set(curves) == {
        f"{name}@{k}"
        for name in ("mode_imbalance", "mode_persistence", "n_samples")
        for k in (1, 2)
    }
    assert curves["n_samples@1"] == 600
    assert curves["mode_persistence@2"] > 0.99
    assert curves["mode_imbalance@2"] < 4 * 0.5 / 600**0.5  # of fair starts, four standard errors
    assert method.results["mode_persistence"] > 0.99
    assert (
        "mode_persistence"
        not in make(Ising(3, 0.6), hidden=8).draw_chains(8, torch.Generator()).extras
    )


def test_memoryless_training_reports_ess_and_log_z():
    method = make(
        Ising(3, 0.28),
        memoryless=True,
        matching=DenoisingMatching(),
        reweight=True,
        steps=(60, 0),
        probes=[Every(30, Quality(256))],
        n_steps=50,
    )
    trainer = train(method, 60)
    assert {"ess@30", "ess@60", "log_z@60"} <= method.curves.keys()
    with torch.no_grad():  # without control the weights are even enough to tell log Z
        for parameter in method.controller.average.parameters():
            parameter.zero_()
    trainer.test(method, Numbers(2048), verbose=False)
    metrics = method.results
    assert metrics["energy_evaluations"] == 1
    assert 0.02 < metrics["ess"] < 0.9
    assert metrics["log_z_error"] < 0.2
    assert abs(metrics["log_z"] - 7.178078) < 4 * metrics["log_z_error"]


def test_phase_ends_copy_the_average_and_stage_one_needs_no_corrector():
    method = make(Ising(3, 0.28), hidden=8, steps=(5, 3))
    asked = []
    forward = method.corrector.average.network.forward
    method.corrector.average.network.forward = lambda *x: asked.append(1) or forward(*x)
    train(method, 8)
    assert not asked
    for matcher in method.matchers.values():
        networks = (matcher.network, matcher.average.network)
        for p, q in zip(*(n.parameters() for n in networks), strict=True):
            assert torch.equal(p, q)
    assert method.corrector.buffer.size == 64  # the phase began with one batch of its own

    method = make(Ising(3, 0.28), hidden=8, steps=(5, 3))
    forward = method.corrector.average.network.forward
    method.corrector.average.network.forward = lambda *x: asked.append(1) or forward(*x)
    train(method, 9)
    assert len(asked) == 1


def test_every_network_that_is_called_is_compiled(monkeypatch):
    compiled = []

    def compiler(call, **_):
        compiled.append(type(call.__self__).__name__)
        return call

    monkeypatch.setattr(torch, "compile", compiler)
    train(make(Ising(3, 0.28), hidden=8, compile=True, steps=(2, 2)), 6)
    assert sorted(compiled) == ["RampedAverage", "RampedAverage", *["StatePerceptron"] * 2]


class Infinite(Target):
    def log_prob(self, x):
        return x.float().sum(-1).log()  # -inf at the zero state


def test_the_constructor_is_short_enough_to_read():
    """What belongs to one network is its matcher's; the base takes four further arguments."""
    named = [p for p in signature(DASBS).parameters.values() if p.kind is not p.VAR_KEYWORD]
    assert len(named) + len(("warm_start", "evaluation", "seed")) <= 14


class TestRefusals:
    def refuse(self, match, error=UserError, target=None, **changes):
        with pytest.raises(error, match=match):
            make(target or Ising(3, 0.28), **changes)

    def test_settings_that_cannot_work(self):
        self.refuse("does not reach every state", source=ConstantSource)
        self.refuse("must be memoryless", memoryless=True, schedule=ModifiedLogLinear())
        self.refuse("path weights say nothing", reweight=True)
        self.refuse("only through path weights", matching=DenoisingMatching())
        self.refuse("cannot hold", buffer_size=32)
        self.refuse("must be at least 1", times=0)
        self.refuse("must be at least 1", steps=(0, 1))
        self.refuse("without end", steps=(5, None))
        with pytest.raises(UserError, match="must be at least 1"):
            Every(0, ExactTotalVariation())
        self.refuse("start from the uniform source", memoryless=True, source=ConstantSource)
        self.refuse("infinite noise", ValueError, memoryless=True, start=0.0)
        self.refuse("n_steps >= 1", ValueError, n_steps=0)
        self.refuse("a start above 0 is for memoryless schedules", start=0.3)
        for latest in (0.0, -1.0, 1.5):
            with pytest.raises(UserError, match=f"latest={latest}: times of the matching"):
                DenoisingMatching(latest)

    def test_bad_targets_and_rates(self):
        with pytest.raises(UserError, match="size >= 3"):
            Ising(2, 0.28)
        with pytest.raises(ValueError, match="gamma"):
            ModifiedLogLinear(-1.0, 0.5)
        with pytest.raises(ValueError, match="alpha"):
            ModifiedLogLinear(1.0, -0.5)

    def test_an_energy_that_is_not_finite_is_found_before_training(self):
        method = make(Infinite(length=2, n_states=2), hidden=8)
        with pytest.raises(UserError, match="-inf at"):
            train(method, 5)
        assert method.global_step == 0


def test_the_example_of_the_readme_runs():
    text = (Path(__file__).parents[3] / "reproduce" / "dasbs" / "README.md").read_text()
    example = text.split("```python\n")[1].split("```")[0]
    assert "max_steps=400" in example
    names = {}
    exec(example.replace("max_steps=400", "max_steps=3"), names)
    assert names["draws"].samples.shape == (4096, 4)
    assert 0 < names["sampler"].results["energy_tv"] < 1
    assert names["sampler"].results["network_evaluations"] == 20
