"""A composition from disk is the one that Hydra makes, and is never older than its files."""

import json
import os

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from jumpbench.errors import UserError
from jumpbench.paths import conf_dirs
from jumpbench.tables.planning import hydra_groups, plan
from jumpbench.tables.planning.composition import composed
from jumpbench.tables.planning.plan import plan_run

pytestmark = pytest.mark.usefixtures("own_cache")


def kept(project):
    return sorted((project / "cache/compositions").rglob("*.json"))


@pytest.mark.parametrize(
    ("experiment", "groups"),
    [
        ("sgdd/super_resolution", ["method@posterior=sgdd/svdd"]),
        (
            "dasbs/exact",
            ["source@method.source=dasbs/constant", "matcher@method.corrector=dasbs/denoising"],
        ),
        ("blackout/fid", ["method=blackout/attributes", "~evaluation"]),
        ("sgdd/dna_masked", []),
        ("dnfs/lattice", ["network=dnfs/lemlp"]),
    ],
)
def test_a_composition_is_that_of_hydra_itself(experiment, groups):
    with initialize_config_dir(str(conf_dirs()[-1]), version_base="1.3"):
        by_hydra = compose("run", overrides=[f"experiment={experiment}", *groups])
    plan.forget()
    assert composed(experiment, groups) == OmegaConf.to_container(by_hydra, resolve=False)


def test_plans_are_the_same_from_disk(project, monkeypatch):
    plain = plan_run("toy/second", ["seed=3"])
    assert len(kept(project)) == 2  # the run, and what it needs
    assert not (project / "outputs").exists()
    plan.forget()
    monkeypatch.setattr(hydra_groups, "compose", None)  # Hydra is not asked again
    again = plan_run("toy/second", ["seed=3"])
    assert again.config == plain.config and again.hash == plain.hash
    assert plan_run("toy/coin", ["method.bias=0.9"], 1).config["method"]["seed"] == 1


def biased(text):
    return text.replace("bias: 0.5", "bias: 0.7")


def test_a_changed_file_is_composed_anew(project, monkeypatch):
    before = plan_run("toy/coin")
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(biased(coin.read_text()))
    plan.forget()
    after = plan_run("toy/coin")
    assert (before.config["method"]["bias"], after.config["method"]["bias"]) == (0.5, 0.7)
    assert len(kept(project)) == 1
    (coin.parent / "second.yaml").write_text("what: this one does not read\n")
    plan.forget()
    monkeypatch.setattr(hydra_groups, "compose", None)
    assert plan_run("toy/coin").config == after.config


def test_a_file_that_changes_while_it_is_composed_is_composed_anew(project, monkeypatch):
    coin = project / "conf/experiment/toy/coin.yaml"
    hydras = hydra_groups.compose

    def edited_afterwards(*arguments, **options):
        found = hydras(*arguments, **options)
        coin.write_text(biased(coin.read_text()))
        return found

    monkeypatch.setattr(hydra_groups, "compose", edited_afterwards)
    assert plan_run("toy/coin").config["method"]["bias"] == 0.5
    plan.forget()
    assert plan_run("toy/coin").config["method"]["bias"] == 0.7


def test_a_file_that_takes_the_place_of_another_is_seen(project, monkeypatch, tmp_path):
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
    whole = plan_run("toy/coin")
    name = json.loads(kept(project)[0].read_text())["name"]
    for text in (
        "", "[]", "{", '{"name": []}', json.dumps({"name": 1, "config": 2}),
        json.dumps({"name": name, "config": {}, "files": []}),
    ):  # fmt: skip
        kept(project)[0].write_text(text)
        plan.forget()
        assert plan_run("toy/coin").hash == whole.hash


def test_no_composition_is_taken_from_the_outputs(project):
    """Several may share them, and a composition decides what is called, and with which numbers."""
    (project / "outputs/.composed").mkdir(parents=True)
    assert plan_run("toy/coin").config["method"]["bias"] == 0.5
    (own,) = [*kept(project), *(project / "outputs").rglob("*.json")]
    content = json.loads(own.read_text())
    content["config"]["method"]["bias"] = 0.9
    (project / "outputs/.composed" / own.name).write_text(json.dumps(content))
    plan.forget()
    assert plan_run("toy/coin").config["method"]["bias"] == 0.5


@pytest.mark.parametrize("damage", ["writable", "inside", "link", "file", "unwritable"])
def test_a_folder_that_others_can_write_is_not_used(project, tmp_path, monkeypatch, damage):
    plan_run("toy/coin")
    (own,) = kept(project)
    assert own.parent.stat().st_mode & 0o077 == own.parent.parent.stat().st_mode & 0o077 == 0
    content = json.loads(own.read_text())
    content["config"]["method"]["bias"] = 0.9
    own.write_text(json.dumps(content))
    assert plan_run("toy/coin", ["seed=1"]).config["method"]["bias"] == 0.5  # of this process
    other = tmp_path / "other"
    if damage == "writable":
        (project / "cache").chmod(0o777)
    elif damage == "inside":
        own.parent.chmod(0o770)
    elif damage == "link":
        own.parent.rename(other)
        own.parent.symlink_to(other)
    elif damage == "file":
        own.unlink()
        own.parent.rmdir()
        own.parent.touch()
    else:
        monkeypatch.setenv("JUMPBENCH_CACHE", "/proc/nobody/cache")
    plan.forget()
    assert plan_run("toy/coin").config["method"]["bias"] == 0.5
