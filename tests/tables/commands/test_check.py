"""``jumpbench check``: a line for each oracle, and one for what is no sampler."""

import sys

import pytest

from jumpbench.cli.main import main

OWN = """
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis


class Mine(OtherSymbolMetropolis):
    def __init__(self, told=1.0):
        self.told = told

    def __call__(self, target, x, steps, generator=None):
        x, info = super().__call__(target, x, steps, generator)
        return x, info._replace(energy_evaluations=self.told * info.energy_evaluations)


def nothing(a, b):
    return a
"""
TARGET = """
from jumpbench.targets import Target


class Ring(Target):
    def log_prob(self, x):
        return 0.8 * (x == x.roll(1, -1)).sum(-1)
"""
GIBBS = "kernel={_target_: jumpbench.samplers.mcmc.gibbs.SystematicGibbs}"


@pytest.fixture
def folder(project, monkeypatch):
    (project / "own_kernel.py").write_text(OWN + TARGET)
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    sys.modules.pop("own_kernel", None)


def test_the_command_prints_a_line_for_each_oracle(folder, capsys):
    assert main(["check", "own_kernel.Mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9 and all(line.startswith(("passed", "not app")) for line in lines)
    assert main(["check", "own_kernel.Mine", "told=0.5"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (wrong,) = [line for line in lines if line.startswith("failed")]
    assert "64 chains of 7 steps made 512 energy evaluations and reported 256" in wrong


@pytest.mark.parametrize("name", ["annealing.AnnealedParticles", "chains.Chains"])
def test_methods_of_the_suite_pass(folder, capsys, name):
    words = [f"jumpbench.methods.unnormalised.{name}", GIBBS]
    words += ["burn_in=8", "spacing=1", "collections=4"] if "Chains" in name else []
    assert main(["check", *words]) == 0
    assert "failed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "which sampler? give one: jumpbench check mine.MySampler"),
        (["own_kernel.Mein"], "own_kernel has no 'Mein'; did you mean 'Mine'?"),
        (["own_kernel.Mine", "tld=1"], "cannot be made: TypeError"),
        (["own_kernel.nothing"], "is called with (a, b): a sampler is called with (target, x"),
        (["own_kernel.nothing", "a=1"], "is no class, and takes no a="),
        (
            ["own_kernel.Ring"],
            "own_kernel.Ring is a target, not a sampler; compare samplers on it with: "
            "jumpbench compare target=own_kernel.Ring target.KEY=value budget=60",
        ),
        (
            ["own_kernel.Ring", "length=8", "n_states=3"],
            "with: jumpbench compare target=own_kernel.Ring target.length=8 target.n_states=3 ",
        ),
        (["os.system"], "a configuration may not call 'os.system'"),
        (["jumpbench.methods.unnormalised.chains.Chains"], "its arguments are key=value"),
    ],
)
def test_what_is_no_sampler_is_told_in_a_line(folder, capsys, words, told):
    assert main(["check", *words]) == 2
    shown = capsys.readouterr().err
    assert told in shown and shown.count("\n") == 1
