"""The configurations hold the hyperparameters that the paper's appendix states."""

from pathlib import Path

import pytest
import yaml

from jumpbench.tables.judging.mentions import filled, numbers
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

FACTS = yaml.safe_load((Path(__file__).parents[2] / "facts" / "dnfs.yaml").read_text())
STATED = {
    (cell["row"], cell["column"]): cell["value"]
    for table in FACTS["tables"]
    if table["id"] == "hparams"
    for cell in table["cells"]
}


@pytest.mark.parametrize(
    "experiment, row, flow",
    [
        ("ising", "Ising figs 1,3,14", None),
        ("ising_10x10", "Ising 10x10 sampling (figs 5,13,15)", None),
        ("sample_energy", "Pre-trained EBM sampling (figs 4,9,11,12)", "flow"),
        ("energy", "EBM training (tables 2,3)", "flow"),
        ("ising_energy", "Ising learning (table 4)", "flow"),
        ("independent_sets", "MIS and MaxCut (tables 1,5,6)", None),
        ("cuts", "MIS and MaxCut (tables 1,5,6)", None),
    ],
)
def test_runs_as_the_appendix_has_them(experiment, row, flow):
    config = plan_run(f"dnfs/{experiment}").whole
    method, network = config["method"], config["network"]
    network = network[flow] if flow else network
    values = {
        "time_steps": method["n_steps"],
        "layers": network["layers"],
        "heads": network["heads"],
        "hidden": network["hidden"],
        "lr": method["optimizer"]["lr"],
        "batch": method["batch_size"],
        "optimizer": method["optimizer"]["_target_"].rsplit(".", 1)[-1],
    }
    if "epochs" in {column for r, column in STATED if r == row}:
        steps = STATED[row, "epochs"] * STATED[row, "steps_per_epoch"]
        assert config["trainer"]["max_steps"] == steps
    if "energy_optimizer" in method:
        stated = STATED.get((row, "ebm_lr")) or STATED[row, "j_lr"]
        assert method["energy_optimizer"]["lr"] == stated
        per = STATED.get((row, "dnfs_steps_per_ebm_step")) or STATED[row, "dnfs_steps_per_j_step"]
        assert method["flow_steps"] == per
    stated = {name: value for name, value in values.items() if (row, name) in STATED}
    assert len(stated) >= 5
    for name, value in stated.items():
        assert value == STATED[row, name], name


@pytest.mark.parametrize(
    "table, row, key, scale",
    [
        ("figure13", "long Gibbs", "steps", "small"),
        ("figure13", "long Gibbs", "steps", "paper"),
        ("table3", "EBM", "kernel_steps", "small"),
        ("table2", "ED-Bern (here)", "kernel_steps", "paper"),
        ("figure4", "Gibbs", "kernel_steps", "small"),
    ],
)
def test_sweeps_in_notes_are_those_that_run(table, row, key, scale):
    page = load(f"dnfs/{table}")
    grid = build(page, Selection(scale))
    runs = [run for cell in grid if cell.row.name == row for run in cell.runs]
    sweeps = {run.whole["method"][key] for run in runs}
    said = filled(page, scale, numbers(page, scale, grid))
    (note,) = [known.note for known in said.rows if known.name == row]
    assert len(sweeps) == 1 and f"{sweeps.pop():,} sweeps" in note
