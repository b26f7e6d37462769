"""An experiment logger gets the run's place in its table and its whole configuration."""

import csv
import json

import pytest
import toys
from lightning.pytorch.loggers import CSVLogger
from wandb_files import offline

from jumpbench.cli.main import main
from jumpbench.tables.commands.tablemirror import COLUMNS
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import loggers, mirrors

MIRROR = "+logger._target_=toys.mirror"


@pytest.fixture
def made(monkeypatch):
    """What mirrors were constructed with, and the configurations that they were given."""
    found = []

    def mirror(**settings):
        logger = CSVLogger(settings["save_dir"])
        logger.log_hyperparams = lambda values: found.append((settings, values))
        return logger

    monkeypatch.setattr("toys.mirror", mirror, raising=False)
    return found


def test_a_mirror_is_named_after_table_row_and_column(project, made):
    chosen = ["rows=fair", "columns=small n", "seeds=[3]"]
    assert main(["table", "toy/coins", "scale=smoke", *chosen, MIRROR]) == 0
    ((settings, values),) = made
    assert settings["group"] == "toy/coins@smoke" and settings["job_type"] == "fair"
    assert settings["name"] == "fair / small n / seed 3" and settings["tags"] == ["toy", "smoke"]
    run = plan_run("toy/coin", [], 3)
    assert settings["id"] == run.hash == values["hash"]
    assert {k: values[k] for k in ("table", "row", "column", "scale", "seed")} == {
        "table": "toy/coins", "row": "fair", "column": "small n", "scale": "smoke", "seed": 3,
    }  # fmt: skip
    assert values["method"] == run.config["method"] and values["trainer"]["precision"] == "32-true"
    assert "commit" in values and "dirty" in values


HEADS = "heads: {rows: {fair: euro}, columns: {small n: 500 flips}}"


def in_miniature(project):
    """The smoke scale calls a row and a column by other names."""
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("{note: one seed,", f"{{note: one seed, {HEADS},"))


def test_a_mirror_says_what_its_scale_ran(project, made):
    in_miniature(project)
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair", "columns=small n", MIRROR]) == 0
    ((settings, values),) = made
    assert settings["name"] == "euro / 500 flips / seed 0" and settings["job_type"] == "euro"
    assert (values["row"], values["column"]) == ("euro", "500 flips")
    assert values["paper"] == {"mean": 0.5}  # that of the row and column of the table


def test_a_single_run_has_no_table(project, made):
    assert main(["run", "experiment=toy/coin", MIRROR]) == 0
    ((settings, values),) = made
    assert settings["job_type"] == "run" and settings["tags"] == ["toy"]
    assert "group" not in settings and values["hash"] == settings["id"]


def test_labels_reach_the_processes_of_a_distributed_run(project, forks):
    """They are read from the run's folder, beside its configuration."""
    many = ["trainer.devices=2", "trainer.accelerator=cpu"]
    assert main(["table", "toy/coins", "scale=smoke", "rows=walk", *many]) == 0
    run = plan_run("toy/walk")
    assert json.loads((run.folder / "labels.json").read_text()) == {
        "table": "toy/coins", "row": "walk", "column": "small n", "scale": "smoke",
    }  # fmt: skip


def test_offline_without_a_key(project, monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(
        loggers, "construct", lambda wanted, place, **k: given.append(wanted) or Fake()
    )
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    run = plan_run("toy/coin", ["logger=wandb"])
    mirrors.mirror(run.folder, run.config, {}, run.hash)
    monkeypatch.setenv("WANDB_API_KEY", "x")
    mirrors.mirror(run.folder, run.config, {}, run.hash)
    assert given[0]["offline"] is True and "resume" not in given[0]
    assert "offline" not in given[1] and given[1]["resume"] == "allow"


class Fake:
    experiment = None

    def log_hyperparams(self, values):
        pass


CHOSEN = ["toy/coins", "scale=smoke", "rows=fair", "columns=small n"]


@pytest.fixture
def without_key(monkeypatch, tmp_path):
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")


def test_the_offline_files_of_a_miniature_say_what_it_ran(project, without_key, capfd):
    """Also in the cells of the table; and nothing but the table's own words on the terminal."""
    in_miniature(project)
    assert main(["table", *CHOSEN, "logger=wandb"]) == 0
    run = plan_run("toy/coin", ["logger=wandb", "method.bias=0.5"])
    (mirrored,), (table,) = (
        offline(folder) for folder in (run.folder, project / "outputs/tables/toy/coins/smoke")
    )
    assert mirrored.run.display_name == "euro / 500 flips / seed 0"
    (cell,) = (row for row in table.table("cells")["data"] if run.hash in str(row))
    assert cell[:2] == ["euro", "500 flips"]
    assert "wandb" not in capfd.readouterr().err


def test_the_offline_files_hold_the_run_and_the_table(project, without_key):
    assert main(["table", *CHOSEN, "logger=wandb"]) == 0
    run = plan_run("toy/coin", ["logger=wandb", "method.bias=0.5"])
    (mirrored,) = offline(run.folder)
    assert mirrored.run.run_id == run.hash
    assert mirrored.run.run_group == "toy/coins@smoke" and mirrored.run.job_type == "fair"
    assert mirrored.run.display_name == "fair / small n / seed 0"
    assert list(mirrored.run.tags) == ["toy", "smoke"]
    for key, value in run.placed().items():
        assert mirrored.config[key] == value, key
    place = {"table": "toy/coins", "scale": "smoke", "row": "fair", "column": "small n"}
    place |= {"paper": {"mean": 0.5}, "seed": 0, "hash": run.hash}
    assert {key: mirrored.config[key] for key in place} == place
    origin = json.loads((run.folder / "provenance.json").read_text())
    assert mirrored.config["commit"] == origin["commit"]
    metrics = json.loads((run.folder / "metrics.json").read_text())["metrics"]
    assert mirrored.logged("results/mean") == [metrics["mean"]]

    folder = project / "outputs/tables/toy/coins/smoke"
    (table,) = offline(folder)
    assert table.run.job_type == "table" and table.run.run_group == "toy/coins@smoke"
    cells = json.loads((folder / "table.json").read_text())["cells"]
    written = table.table("cells")
    assert [dict(zip(written["columns"], row, strict=True)) for row in written["data"]] == [
        {key: " ".join(cell[key]) if key == "run_ids" else cell[key] for key in COLUMNS}
        for cell in cells
    ]
    (kept,) = [artifact for artifact in table.artifacts if artifact.type == "table"]
    held = {entry.path for entry in kept.manifest.contents}
    assert {"table.json", "table.md", "table.csv", "table.tex", "table.html"} == held


def test_finished_runs_are_mirrored_afterwards_and_once(project, without_key):
    chosen = ["toy/coins", "scale=smoke", "rows=walk"]
    assert main(["table", *chosen, "+trainer.log_every_n_steps=5"]) == 0
    run = plan_run("toy/walk")
    before = {path.name: path.read_bytes() for path in run.folder.glob("*.json")}
    assert main(["table", *chosen, "logger=wandb"]) == 0
    assert main(["table", *chosen, "logger=wandb"]) == 0
    (mirrored,) = offline(run.folder)
    assert mirrored.run.run_id == run.hash and mirrored.config["method"] == run.config["method"]
    assert {path.name: path.read_bytes() for path in run.folder.glob("*.json")} == before | {
        "mirror.json": (run.folder / "mirror.json").read_bytes()
    }
    with (run.folder / "training/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert mirrored.logged("train/loss") == [float(row["train/loss"]) for row in rows]
    steps = [row["trainer/global_step"] for row in mirrored.history if "train/loss" in row]
    assert steps == [int(row["step"]) for row in rows]
    metrics = json.loads((run.folder / "metrics.json").read_text())["metrics"]
    assert mirrored.logged("results/mean") == [metrics["mean"]]


def test_a_resumed_run_goes_on_as_the_same_mirror(project, without_key, monkeypatch):
    step = toys.Walk.training_step

    def stop(self, batch, index):
        if self.global_step == 13:
            raise RuntimeError("stopped")
        return step(self, batch, index)

    call = ["run", "experiment=toy/walk", "logger=wandb", "+trainer.log_every_n_steps=1"]
    with monkeypatch.context() as patch:
        patch.setattr("toys.Walk.training_step", stop)
        assert main(call) == 1
    assert main(call) == 0
    run = plan_run("toy/walk")
    first, second = offline(run.folder)
    assert first.run.run_id == second.run.run_id == run.hash  # wandb sync puts them together
    steps = [
        [row["trainer/global_step"] for row in one.history if "train/loss" in row]
        for one in (first, second)
    ]
    assert steps == [list(range(13)), list(range(12, 20))]
    losses = dict(zip(steps[0], first.logged("train/loss"), strict=True))
    assert losses[12] == second.logged("train/loss")[0]  # the step behind the checkpoint, again


def test_where_wandb_cannot_be_reached_the_mirror_is_offline(project, monkeypatch, caplog):
    from wandb.errors import CommError

    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    given = []

    class Unreachable(CSVLogger):
        def __init__(self, **settings):
            given.append(settings)
            super().__init__(settings["save_dir"])

        @property
        def experiment(self):
            if not given[-1].get("offline"):
                raise CommError("no route")
            return super().experiment

    monkeypatch.setattr("toys.WandbLogger", Unreachable, raising=False)
    logger = loggers.opened({"_target_": "toys.WandbLogger"}, project, "abc")
    assert logger.experiment and [one.get("offline") for one in given] == [None, True]
    assert "no route; mirrored offline" in caplog.text


def test_a_table_with_an_override_is_mirrored_by_a_name_that_wandb_takes(project, without_key):
    assert main(["table", *CHOSEN, "logger=wandb", "method.n_samples=50"]) == 0
    (folder,) = (project / "outputs/tables/toy/coins").glob("smoke+*")
    (kept,) = [a for a in offline(folder)[0].artifacts if a.type == "table"]
    assert kept.name.removeprefix("toy-coins-") == folder.name.replace("+", "-")
