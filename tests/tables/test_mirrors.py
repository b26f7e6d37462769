"""An experiment logger gets the run's place in its table and its whole configuration."""

import json

import pytest
from lightning.pytorch.loggers import CSVLogger

from jumpbench.cli import main
from jumpbench.tables.plan import plan_run

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


def test_a_single_run_has_no_table(project, made):
    assert main(["run", "experiment=toy/coin", MIRROR]) == 0
    ((settings, values),) = made
    assert settings["job_type"] == "run" and settings["tags"] == ["toy"]
    assert "group" not in settings and values["hash"] == settings["id"]


def test_labels_reach_the_processes_of_a_distributed_run(project):
    """They are read from the run's folder, beside its configuration."""
    many = ["trainer.devices=2", "trainer.accelerator=cpu"]
    assert main(["table", "toy/coins", "scale=smoke", "rows=walk", *many]) == 0
    run = plan_run("toy/walk")
    assert json.loads((run.folder / "labels.json").read_text()) == {
        "table": "toy/coins", "row": "walk", "column": "small n", "scale": "smoke",
    }  # fmt: skip


def test_offline_without_a_key(project, monkeypatch, tmp_path):
    from jumpbench.tables import mirrors

    given = []
    monkeypatch.setattr(mirrors, "instantiate", lambda wanted, **k: given.append(wanted) or Fake())
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    run = plan_run("toy/coin", ["logger=wandb"])
    mirrors.mirror(run.folder, run.config, {}, run.hash)
    monkeypatch.setenv("WANDB_API_KEY", "x")
    mirrors.mirror(run.folder, run.config, {}, run.hash)
    assert given[0]["offline"] is True and "resume" not in given[0]
    assert "offline" not in given[1] and given[1]["resume"] == "allow"


class Fake:
    def log_hyperparams(self, values):
        pass
