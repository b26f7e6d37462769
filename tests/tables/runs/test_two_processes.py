"""A training on two processes (gloo) is the training on one with the same global batch."""

import json

import pytest
import torch

from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Job, Outcome

STEPS = 30
SIGMAS = 5  # of the mean difference of the losses, whose noise is drawn anew on every process

# One run of each paper: a table, and the method that is trained for it.
RUNS = {
    "blackout": ("blackout/exact", "EnumeratedBlackout"),
    "dasbs": ("dasbs/exact", "DASBS"),
    "dnfs": ("dnfs/exact", "DNFS"),
    "sgdd": ("sgdd/table4", "ScoreTraining"),
    "symmetric_diffusers": ("symmetric_diffusers/table2", "SymmetricDiffuser"),
}


def first_training(table, method):
    """The first run of a smoke table that trains the method and needs nothing."""
    for run in unique_runs(build(load(table), Selection("smoke"))):
        called = run.config["method"]["_target_"].rpartition(".")[2]
        if "fit" in run.config["stages"] and called == method and not run.needs:
            return run
    raise AssertionError(f"{table} trains no {method}")


def trained(run, devices, folder):
    """What every process saw: its losses, and a digest of its weights at the end."""
    folder = folder / f"{run.name}-{devices}-{run.hash}"
    curves = {"_target_": "toys.Curve", "folder": str(folder)}
    trainer = {
        **run.config["trainer"], "max_steps": STEPS, "devices": devices, "accelerator": "cpu",
        "callbacks": [curves],
    }  # fmt: skip
    config = {**run.config, "stages": ["fit"], "trainer": trainer}
    ended = attempt(Job(folder, config))
    assert ended.outcome is Outcome.FINISHED, ended.message
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(devices)]


@pytest.mark.long
@pytest.mark.parametrize("paper", RUNS)
def test_two_processes_train_as_one_does(paper, project, tmp_path):
    run = first_training(*RUNS[paper])
    (alone,) = trained(run, 1, tmp_path)
    one, other = trained(run, 2, tmp_path)
    assert one["weights"] == other["weights"]
    assert one["weights"] != one["start"] and one["start"] == alone["start"]
    assert len(alone["losses"]) == len(one["losses"]) > STEPS // 2
    losses = torch.tensor([one["losses"], other["losses"]], dtype=torch.float64)
    difference = losses.mean(0) - torch.tensor(alone["losses"], dtype=torch.float64)
    if paper == "blackout":  # its loss is the expectation itself, without noise
        assert difference.abs().max() < 1e-5
    else:
        error = difference.std() / len(difference) ** 0.5
        assert difference.mean().abs() < SIGMAS * error
        assert not torch.equal(losses[0], losses[1])  # every process draws its own numbers
