"""One's own class in a paper's experiment: one line, names and sizes of what it has."""

import sys

import pytest

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.evaluations.thermodynamics import ThermodynamicsEvaluation
from jumpbench.tables.commands.single import _changes
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.composition import fitting
from jumpbench.tables.planning.grid import build, not_applied
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.signatures import check_signatures
from jumpbench.targets import Target

MODULE = """\
import torch
from jumpbench.targets import Target

class Peaks(Target):
    def __init__(self, length=4, n_states=3):
        super().__init__(length, n_states)

    def log_prob(self, x):
        return 2.0 * (x == 1).sum(-1)

class Lattice(Peaks):
    def __init__(self, size=3, beta=0.5):
        super().__init__(size * size, 2)

class Net(torch.nn.Module):
    def __init__(self, length, n_states, width=4):
        super().__init__()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ownthings", raising=False)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
    (tmp_path / "ownthings.py").write_text(MODULE)
    plan.forget()
    yield tmp_path
    plan.forget()


def planned(experiment, *typed):
    return plan_run(experiment, _changes(experiment, typed)[0])


@pytest.mark.parametrize("experiment", [
    "dasbs/ising", "dasbs/potts", "dasbs/udns", "dasbs/mdns", "dasbs/leaps", "dasbs/exact",
    "dasbs/figure1", "dasbs/figure2", "dnfs/lattice", "dnfs/exact",
])  # fmt: skip
def test_a_target_in_every_experiment_that_samples_a_lattice(experiment):
    run = planned(experiment, "target=ownthings.Peaks")
    for each in run.with_needs():
        assert each.config["method"]["target"] == {"_target_": "ownthings.Peaks"}
        assert "Peaks" in each.name or each.name == "dnfs-exact"
        check_signatures(each.config)


def test_a_name_says_what_the_class_has():
    assert planned("dasbs/ising", "target=ownthings.Peaks").name == "dasbs-ising-Peaks"
    typed = ["target=ownthings.Lattice", "target.size=5", "target.beta=0.1"]
    assert planned("dasbs/ising", *typed).name == "dasbs-ising-L5-beta0.1"
    with pytest.raises(UserError, match="target has no beta; it has"):  # a typing mistake is told
        planned("dasbs/ising", "~target.beta")


@pytest.mark.parametrize("last", [0, 1])
def test_a_network_wins_over_that_of_a_scale(last):
    typed = ["network=ownthings.Net", "scale=dasbs/sampler/smoke"]
    method = planned("dasbs/ising", *(typed if last else typed[::-1])).config["method"]
    for part in ("controller", "corrector"):
        assert method[part]["network"] == {"_target_": "ownthings.Net", "_partial_": True}
    assert method["n_steps"] == 8  # the scale's
    wide = planned("dasbs/ising", *typed, "network.controller.width=9").config["method"]
    assert wide["controller"]["network"]["width"] == 9
    masked = planned("dasbs/mdns", "network=ownthings.Net").config["method"]["network"]
    assert masked == {"_target_": "ownthings.Net", "_partial_": True}


def test_what_a_scale_says_of_other_keys_is_told_and_what_is_typed_is_refused():
    stated = ["target.size=4", "method.n_steps=8", "target.length=6"]
    kept, notes = fitting("dasbs/ising", stated, ["target=ownthings.Peaks"])
    assert kept == ["method.n_steps=8", "target.length=6", "target=ownthings.Peaks"]
    assert notes == ["target.size=4 is not applied: ownthings.Peaks has no such argument"]
    assert fitting("dasbs/ising", stated, []) == (stated, [])
    both = fitting("dasbs/ising", stated[:1], ["target=ownthings.Lattice"])
    assert both == ([*stated[:1], "target=ownthings.Lattice"], [])
    with pytest.raises(UserError, match=r"no key 'target\.size'; did you mean"):
        planned("dasbs/ising", "target=ownthings.Peaks", "target.size=4")
    with pytest.raises(UserError, match="has no 'Paeks'; did you mean 'Peaks'"):
        check_signatures(planned("dasbs/ising", "target=ownthings.Paeks").config)


def test_a_class_that_is_not_there_is_told_before_its_arguments():
    """Also one whose name resembles no other in its module."""
    with pytest.raises(UserError, match="target: ownthings has no 'Missing'"):
        planned("dasbs/ising", "target=ownthings.Missing", "target.length=4")
    with pytest.raises(UserError, match="target: ownthings has no 'Missing'"):  # as of a table
        fitting("dasbs/ising", ["target.size=4"], ["target=ownthings.Missing"])
    with pytest.raises(UserError, match="network: ownthings has no 'Missing'"):
        planned("dasbs/ising", "network=ownthings.Missing", "network.controller.width=9")


def test_so_is_one_in_a_file_of_ones_own(folder, monkeypatch):
    (folder / "conf" / "target").mkdir(parents=True)
    (folder / "conf" / "target" / "peaks.yaml").write_text("_target_: ownthings.Missing\n")
    monkeypatch.setenv("JUMPBENCH_CONF", str(folder / "conf"))
    plan.forget()
    with pytest.raises(UserError, match="target: ownthings has no 'Missing'"):
        planned("dasbs/exact", "target=peaks", "target.length=4")


def test_a_table_says_what_it_does_not_apply():
    table = load("dasbs/table2")
    selection = Selection("smoke", "[0]", "DASBS", overrides=("target=ownthings.Peaks",))
    grid = build(table, selection)
    notes = not_applied(grid, table, selection)
    assert "target.size=4 is not applied: ownthings.Peaks has no such argument" in notes
    assert len({run.hash for cell in grid for run in cell.runs}) >= 1
    assert not_applied(grid, table, Selection("smoke", "[0]", "DASBS")) == []


def test_a_file_of_ones_own(folder, monkeypatch):
    """Its own mistakes are told; what the experiment says of Ising does not reach it."""
    (folder / "conf" / "target").mkdir(parents=True)
    file = folder / "conf" / "target" / "peaks.yaml"
    file.write_text("_target_: ownthings.Peaks\nlength: 5\n")
    monkeypatch.setenv("JUMPBENCH_CONF", str(folder / "conf"))
    plan.forget()
    run = planned("dasbs/exact", "target=peaks")  # which says target.size of Ising
    assert run.config["method"]["target"] == {"_target_": "ownthings.Peaks", "length": 5}
    assert run.name == "dasbs-exact-Peaks"
    file.write_text("_target_: ownthings.Peaks\nlenght: 5\n")
    plan.forget()
    with pytest.raises(UserError, match="has no argument 'lenght'; did you mean 'length'"):
        check_signatures(planned("dasbs/exact", "target=peaks").config)


def test_nothing_changes_where_no_class_is_ones_own():
    stated = expanded(["scale=dasbs/sampler/medium"])
    assert fitting("dasbs/ising", stated, ["target=potts"])[0] == [*stated, "target=potts"]


def test_an_evaluation_of_the_ising_torus_is_refused_before_training():
    with pytest.raises(UserError, match="not of Target; take evaluation=dnfs/normaliser"):
        ThermodynamicsEvaluation(Target(4, 2))


def test_from_the_command_line(folder, capsys):
    """Nothing is trained: the network has no layers, and the run says so in one line."""
    words = ["experiment=dasbs/exact", "target=ownthings.Peaks", "network=ownthings.Net"]
    words += ["scale=dasbs/exact/smoke", "trainer.accelerator=cpu"]
    assert main(["run", *words]) == 1
    caught = capsys.readouterr()
    said = caught.out + caught.err
    assert "network.controller.hidden=16 is not applied: ownthings.Net has no such" in said
    assert "dasbs-exact-Peaks" in said
