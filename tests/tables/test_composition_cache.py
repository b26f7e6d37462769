"""A composition from disk is the one that Hydra makes, and is never older than its files."""

import json
import os

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from jumpbench.errors import UserError
from jumpbench.paths import conf_dirs
from jumpbench.tables import composition, plan
from jumpbench.tables.composition import composed
from jumpbench.tables.plan import plan_run


def kept(project):
    return sorted((project / "outputs/.composed").rglob("*.json"))


@pytest.mark.parametrize(
    ("experiment", "groups"),
    [
        ("sgdd/super_resolution", ["method@posterior=sgdd/svdd"]),
        ("dasbs/exact", ["source@method.source=constant", "matcher@method.corrector=denoising"]),
        ("blackout/fid", ["method=blackout/attributes", "~evaluation"]),
        ("sgdd/dna_masked", []),
        ("dnfs/short_chains", ["dnfs/kernel@kernel=gradients"]),
    ],
)
def test_a_composition_is_that_of_hydra_itself(experiment, groups):
    with initialize_config_dir(str(conf_dirs()[-1]), version_base="1.3"):
        by_hydra = compose("run", overrides=[f"experiment={experiment}", *groups])
    plan.forget()
    assert composed(experiment, groups) == OmegaConf.to_container(by_hydra, resolve=False)


def test_plans_are_the_same_from_disk(project, monkeypatch):
    plain = plan_run("toy/second", ["seed=3"])
    assert kept(project) == []  # nothing is made where no outputs are
    (project / "outputs").mkdir()
    plan.forget()
    assert plan_run("toy/second", ["seed=3"]).config == plain.config
    assert len(kept(project)) == 2  # the run, and what it needs
    plan.forget()
    monkeypatch.setattr(composition, "compose", None)  # Hydra is not asked again
    again = plan_run("toy/second", ["seed=3"])
    assert again.config == plain.config and again.hash == plain.hash
    assert plan_run("toy/coin", ["method.bias=0.9"], 1).config["method"]["seed"] == 1


def biased(text):
    return text.replace("bias: 0.5", "bias: 0.7")


def test_a_changed_file_is_composed_anew(project, monkeypatch):
    (project / "outputs").mkdir()
    before = plan_run("toy/coin")
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(biased(coin.read_text()))
    plan.forget()
    after = plan_run("toy/coin")
    assert (before.config["method"]["bias"], after.config["method"]["bias"]) == (0.5, 0.7)
    assert len(kept(project)) == 1
    (coin.parent / "second.yaml").write_text("what: this one does not read\n")
    plan.forget()
    monkeypatch.setattr(composition, "compose", None)
    assert plan_run("toy/coin").config == after.config


def test_a_file_that_changes_while_it_is_composed_is_composed_anew(project, monkeypatch):
    (project / "outputs").mkdir()
    coin = project / "conf/experiment/toy/coin.yaml"
    hydras = composition.compose

    def edited_afterwards(*arguments, **options):
        found = hydras(*arguments, **options)
        coin.write_text(biased(coin.read_text()))
        return found

    monkeypatch.setattr(composition, "compose", edited_afterwards)
    assert plan_run("toy/coin").config["method"]["bias"] == 0.5
    plan.forget()
    assert plan_run("toy/coin").config["method"]["bias"] == 0.7


def test_a_file_that_takes_the_place_of_another_is_seen(project, monkeypatch, tmp_path):
    (project / "outputs").mkdir()
    before = plan_run("toy/coin")
    coin = project / "conf/experiment/toy/coin.yaml"
    mine = tmp_path / "mine/experiment/toy/coin.yaml"
    mine.parent.mkdir(parents=True)
    both = [str(tmp_path / "mine"), os.environ["JUMPBENCH_CONF"]]
    monkeypatch.setenv("JUMPBENCH_CONF", os.pathsep.join(both))
    plan.forget()
    assert plan_run("toy/coin").hash == before.hash
    mine.write_text(biased(coin.read_text()))
    plan.forget()
    assert plan_run("toy/coin").config["method"]["bias"] == 0.7
    mine.unlink()
    coin.unlink()
    plan.forget()
    with pytest.raises(UserError, match="no experiment 'toy/coin'"):
        plan_run("toy/coin")


def test_a_damaged_one_is_composed_anew(project):
    (project / "outputs").mkdir()
    whole = plan_run("toy/coin")
    name = json.loads(kept(project)[0].read_text())["name"]
    for text in (
        "", "[]", "{", '{"name": []}', json.dumps({"name": 1, "config": 2}),
        json.dumps({"name": name, "config": {}, "files": []}),
    ):  # fmt: skip
        kept(project)[0].write_text(text)
        plan.forget()
        assert plan_run("toy/coin").hash == whole.hash
