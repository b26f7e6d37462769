"""A composition from disk is the one that Hydra makes, and is never older than its files."""

import json

from jumpbench.tables import composition, plan
from jumpbench.tables.composition_cache import CONTENTS
from jumpbench.tables.plan import plan_run


def kept(project):
    return sorted((project / "outputs/.composed").rglob("*.json"))


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


def test_a_changed_file_is_composed_anew(project):
    (project / "outputs").mkdir()
    before = plan_run("toy/coin")
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("bias: 0.5", "bias: 0.7"))
    plan.forget()
    after = plan_run("toy/coin")
    assert (before.config["method"]["bias"], after.config["method"]["bias"]) == (0.5, 0.7)
    assert len(kept(project)) == 2
    for i in range(CONTENTS + 1):
        coin.write_text(coin.read_text() + f"# {i}\n")
        plan.forget()
        assert plan_run("toy/coin").hash == after.hash
    assert len(kept(project)) == CONTENTS


def test_a_damaged_one_is_composed_anew(project):
    (project / "outputs").mkdir()
    whole = plan_run("toy/coin")
    for text in ("", "[]", "{", '{"name": []}', json.dumps({"name": 1, "config": 2})):
        kept(project)[0].write_text(text)
        plan.forget()
        assert plan_run("toy/coin").hash == whole.hash
