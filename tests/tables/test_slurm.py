"""A real Slurm on loopback: arrays, dependencies, a signal, a time limit, a failure, two shells."""

import json
import time
from pathlib import Path

import cluster
import pytest

from jumpbench.cli import main
from jumpbench.tables.plan import plan_run

pytest.importorskip("submitit", reason="submitit is not installed (pip install 'jumpbench[slurm]')")
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
    monkeypatch.setattr("jumpbench.tables.launchers.slurm.POLL_SECONDS", 1.0)
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
