"""Loggers beside W&B, several at once, trained weights as artifacts, and sweeps on a server."""

import csv
import json
import sys

import pytest
import wandb
import yaml
from toys import EXPERIMENT
from wandb_files import offline
from wandb_server import stand_in

from jumpbench.cli.main import main
from jumpbench.tables.commands.sweep import parameters
from jumpbench.tables.planning.plan import plan_run

WALK = ["run", "experiment=toy/walk", "+trainer.log_every_n_steps=5"]


@pytest.fixture
def without_key(monkeypatch, tmp_path):
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")


def curves(folder):
    """(step, loss) of the run's own file."""
    with (folder / "training/metrics.csv").open() as file:
        return [(int(row["step"]), float(row["train/loss"])) for row in csv.DictReader(file)]


def measured(folder):
    return json.loads((folder / "metrics.json").read_text())["metrics"]


def written(folder, name):
    """(step, value) in the file of Lightning's CSV logger."""
    with (folder / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get(name)]
    return [(int(row["step"]), float(row[name])) for row in rows]


def test_csv_and_wandb_at_once_hold_the_same(project, without_key):
    assert main([*WALK, "logger=[wandb,csv]"]) == 0
    run = plan_run("toy/walk")
    (mirrored,), folder = offline(run.folder), run.folder / "csv/version_0"
    losses = [loss for _, loss in curves(run.folder)]
    assert mirrored.logged("train/loss") == pytest.approx(losses)
    assert [loss for _, loss in written(folder, "train/loss")] == pytest.approx(losses)
    steps, values = zip(*written(folder, "results/mean"), strict=True)
    assert steps == (20,) and values == pytest.approx([measured(run.folder)["mean"]])
    kept = yaml.safe_load((folder / "hparams.yaml").read_text())
    assert kept["method"] == run.config["method"] and kept["hash"] == run.hash


def test_a_finished_run_reaches_the_loggers_that_lack_it_and_no_other(project, without_key):
    table = ["table", "toy/coins", "scale=smoke", "rows=walk"]
    assert main([*table, "logger=csv", "+trainer.log_every_n_steps=5"]) == 0
    run = plan_run("toy/walk")
    before = (run.folder / "csv/version_0/metrics.csv").read_bytes()
    for _ in range(2):
        assert main([*table, "logger=[csv,wandb]"]) == 0
    assert [path.name for path in (run.folder / "csv").iterdir()] == ["version_0"]
    assert (run.folder / "csv/version_0/metrics.csv").read_bytes() == before
    (mirrored,) = offline(run.folder)
    assert mirrored.logged("train/loss") == [loss for _, loss in curves(run.folder)]
    assert mirrored.run.display_name == "walk / small n / seed 0"


def test_a_resumed_run_keeps_the_csv_of_its_first_attempt(project, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("toys.Walk.draw", lambda *_: 1 / 0)
        assert main([*WALK, "logger=csv"]) == 1
    assert main([*WALK, "logger=csv"]) == 0
    folder = plan_run("toy/walk").folder
    assert written(folder / "csv/version_0", "train/loss")
    assert written(folder / "csv/version_1", "results/mean")


def test_tensorboard_holds_curves_and_results(project):
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="pip install -e '.[tensorboard]'",
    )
    assert main([*WALK, "logger=tensorboard"]) == 0
    run = plan_run("toy/walk")
    found = events.EventAccumulator(str(run.folder / "tensorboard"))
    found.Reload()
    losses = [(e.step, e.value) for e in found.Scalars("train/loss")]
    assert [loss for _, loss in losses] == pytest.approx([loss for _, loss in curves(run.folder)])
    assert [(e.step, e.value) for e in found.Scalars("results/mean")] == [
        (20, pytest.approx(measured(run.folder)["mean"]))
    ]


def test_without_tensorboard_it_says_what_to_install(project, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([*WALK, "logger=tensorboard"]) == 1
    assert "pip install -e '.[tensorboard]'" in capsys.readouterr().err


def test_a_misspelled_logger_among_several_is_refused(project, capsys):
    assert main([*WALK, "logger=[wandb,cvs]"]) == 2
    assert "cvs" in capsys.readouterr().err


def test_the_weights_of_a_prior_lead_to_its_sampler(project, without_key):
    needing = EXPERIMENT.format(name="sampler", kind="Coin", more="")
    needing += "needs: {prior: {experiment: toy/walk}}\n"
    (project / "conf/experiment/toy/sampler.yaml").write_text(needing)
    assert main(["run", "experiment=toy/sampler", "logger=wandb"]) == 0
    sampler = plan_run("toy/sampler")
    (prior,) = sampler.needs.values()
    (made,), (used,) = (offline(run.folder)[0].artifacts for run in (prior, sampler))
    assert made.type == used.type == "model"
    assert made.name == used.name == prior.folder.name
    assert made.digest == used.digest  # the server keeps one version
    assert used.use_after_commit and used.user_created
    assert not (made.use_after_commit or made.user_created)
    assert [entry.path for entry in made.manifest.contents] == ["last.ckpt"]


def test_weights_stay_here_where_the_logger_says_so(project, without_key):
    assert main([*WALK, "logger=wandb", "logger.wandb.log_model=false"]) == 0
    assert offline(plan_run("toy/walk").folder)[0].artifacts == []


SWEEP = ["sweep", "experiment=toy/coin", "method.bias=0.2,0.6", "method.n_samples=50,70"]
SWEEP += ["metric=mean", "logger=wandb"]


@pytest.mark.slow
def test_a_sweep_is_one_on_the_server_and_its_runs_belong_to_it(project, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_SILENT", "true")
    with monkeypatch.context() as offline_first:  # or runs without a server end W&B's process
        offline_first.setenv("WANDB_MODE", "offline")
        wandb.setup()
    monkeypatch.setattr("jumpbench.tables.runs.mirrors.opened", offline_opened())
    with stand_in(monkeypatch) as server:
        assert main(SWEEP) == 0
        assert main(SWEEP) == 0  # nothing is made twice
    (sent,) = server.sent("UpsertSweep")
    asked = yaml.safe_load(sent["config"])
    assert sent["projectName"] == "jumpbench" and asked["method"] == "grid"
    assert asked["parameters"] == {
        "method": {
            "parameters": {"bias": {"values": [0.2, 0.6]}, "n_samples": {"values": [50, 70]}}
        }
    }
    folders = sorted((project / "outputs/runs/toy").glob("coin-*"))
    runs = [one for folder in folders for one in offline(folder)]
    assert len(runs) == 4 and {one.run.sweep_id for one in runs} == {"sweep1"}
    assert {one.run.run_group for one in runs} == {f"{asked['name']}@small"}


def offline_opened():
    """Runs are mirrored into files, as the stand-in takes none."""
    from jumpbench.tables.runs import loggers

    make = loggers._made
    return lambda wanted, folder, name: make(
        {k: v for k, v in wanted.items() if k != "log_model"} | {"offline": True}, folder, name
    )


@pytest.mark.slow
def test_without_a_key_a_sweep_is_a_group(project, without_key):
    assert main(SWEEP) == 0
    (file,) = (project / "outputs/tables/sweep").glob("*/sweep.yaml")
    assert not file.with_name("wandb.json").exists()
    folders = (project / "outputs/runs/toy").glob("coin-*")
    groups = {one.run.run_group for folder in folders for one in offline(folder)}
    assert groups == {f"sweep/{file.parent.name}@small"}


@pytest.mark.slow
def test_what_the_server_refuses_stops_no_sweep(project, without_key, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)

    def refuse(*_, **__):
        raise ValueError("no such\nproject")

    monkeypatch.setattr("wandb.sweep", refuse)
    assert main(SWEEP) == 0
    assert "W&B: no sweep: no such project" in capsys.readouterr().err


def test_parameters_are_nested_as_a_configuration():
    swept = {"method.n": ["method.n=1", "method.n=2"], "seed": ["seed=0"]}
    assert parameters(swept) == {
        "method": {"parameters": {"n": {"values": [1, 2]}}}, "seed": {"values": [0]},
    }  # fmt: skip
