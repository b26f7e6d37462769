"""A real Slurm on loopback: arrays, dependencies, a signal, a time limit, a failure, two shells."""

import json
import time
from pathlib import Path

import cluster
import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run

pytest.importorskip("submitit", reason="submitit is not installed (pip install -e '.[slurm]')")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(cluster.missing()), reason=f"there is {cluster.missing()}"),
]
TABLE = ["table", "toy/coins", "scale=smoke"]
SLURM = ["launcher=slurm", "launcher.minutes=5"]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    made = cluster.Slurm(tmp_path_factory.mktemp("slurm"))
    yield made
    made.stop()


@pytest.fixture
def on_slurm(slurm, monkeypatch):
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("jumpbench.tables.launchers.slurm_wait.POLL_SECONDS", 1.0)
    monkeypatch.setattr("jumpbench.tables.launchers.slurm_wait.GONE_SECONDS", 1.0)
    monkeypatch.setattr("jumpbench.tables.launchers.queue.ASKED_SECONDS", 0.0)
    return slurm


def cells(project, outputs):
    """What the table's cells hold, without when and where."""
    table = json.loads((project / outputs / "tables/toy/coins/smoke/table.json").read_text())
    keys = ("row", "column", "metric", "status", "measured", "values")
    return [{key: cell[key] for key in keys} for cell in table["cells"]]


def until(holds, what):
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def test_cells_equal_the_serial_ones_and_two_calls_queue_once(
    project, on_slurm, monkeypatch, capsys
):
    """With a run that fails, one that needs another, and a second shell."""
    table = project / "reproduce/toy/coins.yaml"
    rows = "  - {name: second, experiment: toy/second}\n"
    rows += "  - {name: bad, overrides: [method.fail=no], only: [small n]}\n"
    table.write_text(table.read_text().replace("columns:", rows + "columns:"))
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "serial"))
    assert main(TABLE) == 1
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "slurm"))
    assert main([*TABLE, *SLURM]) == 1  # returns at once
    assert "9 runs queued in 3 submissions" in capsys.readouterr().err  # arrays of 4 at most
    assert main(["status", "toy/coins", "scale=smoke"]) == 1
    shown = capsys.readouterr().out
    assert "queued" in shown and "job" in shown
    assert main([*TABLE, *SLURM, "launcher.wait=true"]) == 1
    told = capsys.readouterr().err
    assert "0 runs queued in 0 submissions" in told or "1 runs queued" in told
    assert "failed: toy/coin-" in told and "RuntimeError: no" in told
    assert cells(project, "slurm") == cells(project, "serial")
    trace = (project / "trace").read_text().splitlines()
    assert sorted(trace)[::2] == sorted(trace)[1::2]  # each run once by each launcher


def test_a_failed_need_fails_its_users(project, on_slurm, capsys):
    second = project / "conf/experiment/toy/second.yaml"
    second.write_text(second.read_text().replace('bias=0.25"', 'bias=0.25", "method.fail=no"'))
    assert main(["run", "experiment=toy/second", *SLURM, "launcher.wait=true"]) == 1
    shown = capsys.readouterr().err
    assert "RuntimeError: no" in shown and "it needs toy/coin-" in shown and "which failed" in shown


def test_a_job_that_must_go_saves_and_is_queued_again(project, on_slurm, monkeypatch, capsys):
    """By the signal of a preemption, in the midst of training."""
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 1.0"))
    plain = ["run", "experiment=toy/walk", "checkpoint_every=1000"]
    run = plan_run("toy/walk")
    assert main([*plain, *SLURM]) == 1
    until(lambda: (run.folder / "progress.json").exists(), "the run does not begin")
    time.sleep(3)
    job = json.loads((run.folder / "job.json").read_text())["id"]
    on_slurm.command("scancel", "--signal=USR2", job)
    until(lambda: (run.folder / "checkpoints/last.ckpt").exists(), "no checkpoint")
    saved = (run.folder / "checkpoints/last.ckpt").stat().st_mtime
    assert main([*plain, *SLURM, "launcher.wait=true"]) == 0
    metrics = json.loads((run.folder / "metrics.json").read_text())["metrics"]
    log = (run.folder / "log.txt").read_text()
    assert "KeyboardInterrupt" in log and log.count("Trainer.fit` stopped") == 1
    assert (run.folder / "metrics.json").stat().st_mtime > saved
    assert json.loads((run.folder / "job.json").read_text())["id"] == job
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "serial"))
    assert main(["run", "experiment=toy/walk"]) == 0
    serial = json.loads((plan_run("toy/walk").folder / "metrics.json").read_text())["metrics"]
    assert metrics["mean"] == serial["mean"]


def walked(project, monkeypatch, outputs, *more):
    """Steps, result and weights of a walk."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / outputs))
    assert main(["run", "experiment=toy/walk", "trainer.accelerator=cpu", *more]) == 0
    folder = plan_run("toy/walk").folder
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    weights = torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    return metrics["run/steps"], metrics["mean"], weights["position"].tolist()


def test_one_run_on_two_machines_is_that_on_two_devices_of_one(project, on_slurm, monkeypatch):
    """Also where its job must go in the midst of training, and both go on from what it saved."""
    two = walked(project, monkeypatch, "devices", "trainer.devices=2")
    nodes = ["trainer.num_nodes=2", *SLURM]
    assert walked(project, monkeypatch, "nodes", *nodes, "launcher.wait=true") == two

    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 1.0"))
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "preempted"))
    folder = plan_run("toy/walk").folder
    assert main(["run", "experiment=toy/walk", "trainer.accelerator=cpu", *nodes]) == 1
    until((folder / "progress.json").exists, "the run does not begin")
    job = json.loads((folder / "job.json").read_text())["id"]
    on_slurm.command("scancel", "--signal=USR2", job)
    until((folder / "checkpoints/last.ckpt").exists, "no checkpoint")
    again = walked(project, monkeypatch, "preempted", *nodes, "launcher.wait=true")
    assert again == two
    log = (folder / "log.txt").read_text()
    assert log.count("GLOBAL_RANK: 1, MEMBER: 2/2") == 2  # the other machine, twice


def test_a_part_that_dies_ends_the_job(project, on_slurm):
    """Also before it joins, when the first would wait at the meeting: srun is told so."""
    from jumpbench.tables.launchers.slurm import Slurm

    asked = Slurm().parameters(plan_run("toy/walk", ["trainer.num_nodes=2"]))
    assert asked["nodes"] == 2 and "--kill-on-bad-exit=1" in asked["slurm_srun_args"]
    assert Slurm().parameters(plan_run("toy/walk"))["slurm_srun_args"] == ["--cpus-per-task=1"]


def test_what_fails_on_one_machine_fails_the_run(project, on_slurm, capsys):
    """The first would wait for the second; nothing stays behind."""
    run = ["run", "experiment=toy/walk", "trainer.num_nodes=2", "trainer.accelerator=cpu"]
    assert main([*run, *SLURM, "+method.fails_on=1", "launcher.wait=true"]) == 1
    assert "RuntimeError: no, not here" in capsys.readouterr().err
    until(lambda: not on_slurm.command("squeue", "-h"), "the job goes on")


def test_a_run_that_hangs_has_failed(project, on_slurm, monkeypatch, capsys):
    monkeypatch.setattr("jumpbench.tables.launchers.slurm._MARGIN_MINUTES", 1)
    command = ["run", "experiment=toy/coin", "method.sleep=600", "resources.minutes=0.5"]
    assert main([*command, *SLURM, "launcher.wait=true"]) == 1
    assert "it was stopped after resources.minutes=0.5" in capsys.readouterr().err


def test_the_time_of_a_job_ends_and_the_run_goes_on_in_the_next(
    project, on_slurm, monkeypatch, capsys
):
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 6.0"))
    command = ["run", "experiment=toy/walk", "launcher=slurm", "launcher.minutes=2"]
    assert main([*command, "launcher.warning=20", "launcher.wait=true"]) == 0
    run = plan_run("toy/walk")
    log = Path(json.loads((run.folder / "job.json").read_text())["log"])
    assert "this job is timed-out" in log.read_text()


def test_what_sbatch_refuses_is_one_line(project, on_slurm, capsys):
    assert main(["run", "experiment=toy/coin", *SLURM, "launcher.partition=none"]) == 2
    assert "sbatch refused" in capsys.readouterr().err
