"""``jumpbench compare``: samplers of the leaderboard on an energy that the suite has not."""

import json
import math
import sys

import pytest
import torch

from jumpbench.artifacts import load_artifacts
from jumpbench.cli.main import main
from jumpbench.tables.commands import compare, contestants, judgement
from jumpbench.tables.planning import plan

ENERGY = """
import torch
from jumpbench.targets import Target


class Walls(Target):
    '''log nu = -beta (unequal neighbours on a ring).'''

    def __init__(self, n=6, beta=0.5):
        super().__init__(n, 2)
        self.beta = beta

    def log_prob(self, x):
        return -self.beta * (x != x.roll(1, -1)).sum(-1).float()


class Bytes(Walls):
    def log_prob(self, x):
        return ((2 * x - 1) * 0.25).sum(-1)


class Buffered(Walls):
    def __init__(self):
        super().__init__()
        self.register_buffer("fields", torch.zeros(6))


class Broken(Walls):
    def log_prob(self, x):
        return x.sorted()


class Whole(Walls):
    def log_prob(self, x):
        return (x == x.roll(1, -1)).sum(-1)


class Random(Walls):
    def log_prob(self, x):
        return super().log_prob(x) + torch.rand(len(x))


class Relative(Walls):
    def log_prob(self, x):
        energy = super().log_prob(x)
        return energy - energy.mean()


class InPlace(Walls):
    def log_prob(self, x):
        x.clamp_(max=0)
        return x.sum(-1).float()
"""
SHORT = ["compare", "target=own_walls.Walls", "budget=0.05"]


@pytest.fixture
def folder(project, monkeypatch):
    """A folder with the energy, and fewer samplers than there are."""
    (project / "own_walls.py").write_text(ENERGY)
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    sys.modules.pop("own_walls", None)  # that of another test
    plan.forget()
    some = [
        row
        for row in contestants.contestants()
        if row.name in ("Gibbs", "AIS", "MDNS", "Wolff", contestants.WARM)
    ]
    monkeypatch.setattr(compare, "contestants", lambda: some)
    return project


def cells(folder):
    (file,) = (folder / "outputs/tables/compare").glob("*/small/table.json")
    return {(c["row"], c["metric"]): c for c in json.loads(file.read_text())["cells"]}


@pytest.mark.slow
def test_an_enumerable_energy_is_judged_exactly(folder, capsys):
    assert main([*SHORT, "rows=Gibbs,AIS,Wolff", "seeds=3"]) == 0
    shown = capsys.readouterr().out
    assert "left out: Wolff: cluster moves need a lattice" in shown and "MDNS" not in shown
    found = cells(folder)
    for row in ("Gibbs", "AIS"):
        cell = found[row, "energy_tv"]
        assert cell["n_seeds"] == 3 and cell["measured"] < 3 * cell["perfect"] < 0.1
    # Z of a ring of n spins by its transfer matrix: the eigenvalues are 1 +- exp(-beta).
    z = (1 + math.exp(-0.5)) ** 6 + (1 - math.exp(-0.5)) ** 6
    assert f"errors against the exact law, of log Z {math.log(z):.4f}" in shown
    assert found["AIS", "log_z"]["measured"] == pytest.approx(math.log(z), abs=0.05)
    sentence = shown.splitlines()[-1]
    assert "3 seeds cannot tell apart" in sentence or "has the lowest error at 0.05 s" in sentence
    picture = next(line for line in shown.splitlines() if line.startswith("picture: "))
    assert (folder / picture.removeprefix("picture: ")).stat().st_size > 5000
    assert main([*SHORT, "rows=Gibbs,AIS", "seeds=3"]) == 0
    assert "started" not in "".join(capsys.readouterr())  # nothing is made twice


@pytest.mark.slow
def test_a_larger_one_is_judged_by_parallel_tempering_once_it_has_converged(
    folder, capsys, monkeypatch
):
    words = [*SHORT, "target.n=22", "reference=0.1", "rows=Gibbs,AIS", "seeds=1"]
    small = [o.replace("4096", "2048").replace("256", "128") for o in judgement._REFERENCE[1]]
    monkeypatch.setattr(judgement, "_REFERENCE", (judgement._REFERENCE[0], small))
    monkeypatch.setattr(judgement, "FEWEST_TRIPS", 10**6)
    assert main(words) == 1
    shown = capsys.readouterr()
    assert "Refused: no error against a reference that has not converged" in shown.out
    assert (
        "round trips a ladder are fewer than 1000000" in shown.out
        and "give it longer, reference=" in shown.out
    )
    assert {metric for _, metric in cells(folder)} >= {"mean", "lowest", "rate"}
    assert ("Gibbs", "energy_tv") not in cells(folder)
    monkeypatch.setattr(judgement, "FEWEST_TRIPS", 0)
    assert main(words) == 0
    shown = capsys.readouterr()
    started = [line for line in shown.err.splitlines() if line.startswith("started")]
    assert len(started) == 2 and all("judged-" in line for line in started)
    found = cells(folder)
    assert found["Gibbs", "energy_tv"]["measured"] < 0.2 and found["AIS", "log_z"]["measured"] > 0
    # The reference's own law of walls: an even number k of n, with weight C(n, k) exp(-beta k).
    (run,) = (folder / "outputs/runs/leaderboard").glob("reference-*")
    walls = (load_artifacts(run)["energies"] / 0.5).round().long()
    law = torch.tensor([math.comb(22, k) * math.exp(-k / 2) * (k % 2 == 0) for k in range(23)])
    drawn = torch.bincount(walls, minlength=23) / len(walls)
    assert float((drawn - law / law.sum()).abs().sum()) / 2 < 0.08


def test_every_sampler_of_the_leaderboard_may_take_part():
    names = [row.name for row in contestants.contestants()]
    assert {"Metropolis", "Parallel tempering", "SMC", "DASBS (guided)", "DNFS (leConv)"} < {*names}
    assert "Exact draws" not in names and len(names) == 18
    warm = next(r for r in contestants.contestants() if r.name == contestants.WARM)
    assert warm.budgeted(60) == ["budget.seconds=30"]
    assert not any("budget" in override for override in warm.overrides)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (SHORT[:2], "how long? give budget=60"),
        (["compare", "budget=1"], "which target? give target=mine.MyEnergy"),
        ([*SHORT[:2], "budget=soon"], "budget=soon: give seconds"),
        ([*SHORT[:2], "budget=-1"], "give seconds: 60, or 5,20,80"),
        ([*SHORT, "method.burn_in=3"], "compare changes no sampler; leave out method.burn_in="),
        ([*SHORT, "reference=5"], "this law is enumerated and needs none"),
        ([*SHORT, "rows=Gibs"], "no sampler 'Gibs'; did you mean 'Gibbs'"),
        ([*SHORT, "rows=Wolff"], "none of these samplers is defined"),
        ([*SHORT, "target.m=3"], "did you mean 'target.n'"),
        (["compare", "target=own_walls.Nothing", "budget=1"], "has no 'Nothing'"),
        (["compare", "target=own_walls.Bytes", "budget=1"], "begin with x = x.long()"),
        (
            ["compare", "target=own_walls.Broken", "budget=1"],
            "Broken.log_prob of 64 states",
        ),
        (
            ["compare", "target=own_walls.Walls", "target.n=six", "budget=1"],
            "target.n takes a number",
        ),
        (["compare", "target=own_wals.Walls", "target.n=6", "budget=1"], "mean 'own_walls'?"),
        (["compare", "target=own_walls.Whole", "budget=1"], "log_prob is torch.int64"),
        (["compare", "target=own_walls.Random", "budget=1"], "gives two numbers for one state"),
        (["compare", "target=own_walls.Relative", "budget=1"], "the others of its batch"),
        (["compare", "target=own_walls.InPlace", "budget=1"], "changes the states"),
        (
            ["compare", "target=own_walls.Buffered", "budget=1"],
            "'Buffered' object has no attribute 'register_buffer'\n",
        ),
    ],
)
def test_bad_comparisons_are_told_and_leave_nothing(folder, capsys, words, told):
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert told in shown and shown.count("\n") == 1
    assert not (folder / "outputs/tables").exists()
