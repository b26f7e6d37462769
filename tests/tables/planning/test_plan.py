import pytest

from jumpbench.errors import UserError
from jumpbench.paths import experiment_names
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection, seeds
from jumpbench.tables.runs.devices import data_settings


def test_identity_ignores_what_cannot_change_a_result(project):
    base = plan_run("toy/coin")
    for same in (
        ["trainer.accelerator=cpu"],
        ["trainer.devices=2"],
        ["logger=wandb"],
        ["checkpoint_every=7"],
        ["name=other"],
        ["+data.num_workers=3"],
        ["trainer.strategy=ddp"],
        ["++trainer.benchmark=null"],
        ["+settings={n5: {lr: 1}, n9: {lr: 2}}"],
        ["+unused.group=1"],
    ):
        assert plan_run("toy/coin", same).hash == base.hash, same
    for other in (["method.bias=0.4"], ["data.n=9"], ["trainer.precision=16-mixed"], ["seed=1"]):
        assert plan_run("toy/coin", other).hash != base.hash, other
    assert plan_run("toy/coin", [], 1).hash == plan_run("toy/coin", ["seed=1"]).hash


def test_a_need_is_part_of_the_identity_and_its_folder_is_not(project, monkeypatch):
    run = plan_run("toy/second")
    need = run.needs["first"]
    assert need.hash == plan_run("toy/coin", ["method.bias=0.25"]).hash
    assert [step.hash for step in run.with_needs()] == [need.hash, run.hash]
    assert run.placed()["method"]["source"] == str(need.folder)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "elsewhere"))
    assert plan_run("toy/second").hash == run.hash
    assert run.placed()["method"]["source"].startswith(str(project / "elsewhere"))


def test_what_changes_no_result_is_passed_on_to_needs(project):
    run = plan_run("toy/second", ["trainer.accelerator=cpu", "method.bias=0.3"])
    assert run.needs["first"].config["trainer"]["accelerator"] == "cpu"
    assert run.needs["first"].config["method"]["bias"] == 0.25


def test_cells_with_the_same_configuration_share_a_run(project):
    table = load("toy/coins")
    grid = build(table, Selection("smoke", rows="fair,biased", overrides=("method.n_samples=9",)))
    assert len(grid) == 4
    assert len(unique_runs(grid)) == 2


def test_experiments_of_other_names_are_the_same_run(project):
    folder = project / "conf/experiment/toy"
    coin = (folder / "coin.yaml").read_text()
    (folder / "penny.yaml").write_text(coin.replace("name: coin", "name: penny"))
    second = (folder / "second.yaml").read_text()
    (folder / "third.yaml").write_text(second.replace("toy/coin", "toy/penny"))
    needed = plan_run("toy/second").needs["first"]
    other = plan_run("toy/third").needs["first"]
    assert other.folder == needed.folder
    assert plan_run("toy/penny", ["method.bias=0.25"], 0).folder == needed.folder
    assert plan_run("toy/second") == plan_run("toy/third")


def test_a_part_of_a_table_is_a_table(project):
    table = load("toy/coins")
    grid = build(table, Selection("paper", seeds="[4,7]", rows="FAIR", columns="large*"))
    assert [(c.row.name, c.column.name) for c in grid] == [("fair", "large n")]
    assert [run.seed for run in grid[0].runs] == [4, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, [0, 1]), ("3", [0, 1, 2]), ("[3]", [3]), ("4,7", [4, 7]), ("[0,0]", [0])],
)
def test_seeds(text, expected):
    assert list(seeds(text, 2)) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "0", "[]", "99999", "1e3", "²"])
def test_bad_seeds(text):
    with pytest.raises(UserError, match="seeds"):
        seeds(text, 2)


@pytest.mark.parametrize(
    "overrides",
    [
        ["method.bia=0.4"],
        ["nothing=1"],
        ["trainer=gpuu"],
        ["method.bias=[1"],
        ["data.n=${no.such}"],
    ],
)
def test_bad_overrides_are_one_line(project, overrides):
    with pytest.raises(UserError) as caught:
        plan_run("toy/coin", overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("methd.bias=1", "did you mean 'method'"),
        ("method.bas=1", "did you mean 'method.bias'"),
        ("method.bias.x=1", "method.bias.x"),
        ("~method.bas", "there is no method.bas"),
        ("+method.bias=0.3", "leave out the +"),
        ("method.bias=0.1,0.2", r"write method.bias=\[0.1,0.2\]"),
        ("method.bias=???", "a value must be given: method.bias="),
    ],
)
def test_a_wrong_key_says_what_is_meant(project, override, said):
    with pytest.raises(UserError, match=said):
        plan_run("toy/coin", [override])


def need(project, text):
    """``toy/third`` needs ``toy/coin`` as ``text`` says."""
    path = project / "conf/experiment/toy/third.yaml"
    path.write_text(
        f"""\
# @package _global_
defaults: [/experiment/toy/second, _self_]
name: third
size: 3
data: {{n: "${{size}}"}}
method: {{n_samples: "${{size}}", source: "${{needs.first.folder}}"}}
needs: {{first: {{experiment: toy/coin, {text}}}}}
"""
    )
    plan.forget()


def test_a_needed_run_gets_copies_of_nodes(project):
    need(project, "copy: [method, data, seed], overrides: [method.bias=0.2, method.source=null]")
    run = plan_run("toy/third", ["method.n_samples=77", "+method.new=4", "seed=5"])
    needed = run.needs["first"].config
    assert needed["method"] == run.config["method"] | {"bias": 0.2, "source": None}
    assert needed["method"]["n_samples"] == 77 and needed["method"]["new"] == 4
    assert needed["seed"] == needed["method"]["seed"] == 5
    assert needed["data"]["n"] == 3  # a formula of a node that is not copied


def test_a_formula_of_copied_nodes_stays_one(project):
    need(project, "copy: [data, method], overrides: [data.n=9, method.source=null]")
    path = project / "conf/experiment/toy/third.yaml"
    path.write_text(path.read_text().replace('n_samples: "${size}"', 'n_samples: "${data.n}"'))
    needed = plan_run("toy/third", ["seed=2"]).needs["first"].config
    assert needed["method"]["n_samples"] == 9
    assert needed["method"]["seed"] == needed["seed"] == 0  # its own seed: none was copied


def test_copies_and_needs_are_checked(project):
    need(project, "copy: [metod]")
    with pytest.raises(UserError, match="did you mean 'method'"):
        plan_run("toy/third")
    need(project, "copies: [method]")
    with pytest.raises(UserError, match=r"needs\.first must have experiment"):
        plan_run("toy/third")


def test_a_needed_run_gets_the_overrides_of_its_run_without_some(project):
    """Not its nodes: what a group changed is left out with the group, and all else is shared."""
    need(project, "without: [regime, size], overrides: [method.bias=0.2, method.source=null]")
    (project / "conf/regime").mkdir()
    (project / "conf/regime/hot.yaml").write_text("# @package _global_\nmethod: {n_samples: 9}\n")
    plan.forget()
    asked = ["+regime=hot", "+method.new=4", "size=7", "trainer.accelerator=cpu"]
    run = plan_run("toy/third", asked, seed=5)
    assert run.config["method"]["n_samples"] == 9
    same = ["+method.new=4", "trainer.accelerator=cpu", "method.bias=0.2", "method.source=null"]
    needed = run.needs["first"]
    assert needed is plan_run("toy/coin", same, seed=5)
    assert needed.config["method"]["new"] == 4 and needed.config["method"]["n_samples"] != 9


def test_overrides_of_a_run_that_has_none_of_its_own_are_refused(project):
    need(project, "without: [regime], copy: [method]")
    with pytest.raises(UserError, match="or without"):
        plan_run("toy/third")


def test_a_run_does_not_need_what_was_dropped(project):
    assert plan_run("toy/second", ["needs.first=null", "method.source=null"]).needs == {}


@pytest.mark.parametrize("experiment", [e for e in experiment_names() if e.startswith("dasbs/")])
def test_the_ground_truth_has_the_target_of_the_run(experiment):
    run = plan_run(experiment)
    if "ground_truth" not in run.needs:
        pytest.skip("has no ground truth")
    for key, value in run.config["target"].items():
        if key == "_target_":
            continue
        changed = plan_run(experiment, [f"target.{key}={value + 1}"])
        assert changed.config["target"][key] == value + 1
        for step in changed.with_needs():
            if "ground_truth" in step.needs:
                assert step.needs["ground_truth"].config["target"] == step.config["target"]


@pytest.mark.parametrize("name", ["leaps", "mdns", "udns"])
def test_a_warm_start_has_the_architecture_and_the_law_of_its_run(name):
    network = "network.controller.hidden=24" if name == "udns" else "network.seed=24"
    network = {"leaps": "+network.extra=1", "mdns": "network.hidden=24"}.get(name, network)
    changes = [network, "target.coupling=0.5", "target.beta=0.5", "trainer.precision=64-true"]
    run = plan_run(f"dasbs/{name}", ["+regime=dasbs/warm_start", *changes])
    hotter = run.needs["hotter"]
    same = {"network", "data", "trainer", "seed"}
    assert {k: hotter.config[k] for k in same} == {k: run.config[k] for k in same}
    assert hotter.config["target"] == run.config["target"] | {"beta": 0.28}
    assert hotter.needs["ground_truth"].config["target"] == hotter.config["target"]
    differ = {k for k, v in run.config["method"].items() if hotter.config["method"][k] != v}
    assert {"warm_start"} <= differ <= {"warm_start", "evaluation", "target"}


@pytest.mark.parametrize(("stages", "size"), [(["test"], 100), (["fit", "test"], 50)])
def test_devices_share_the_training_batch_and_leave_test_batches_whole(stages, size):
    config = {"trainer": {"devices": 2}, "data": {"train_batch_size": 100}, "stages": stages}
    assert data_settings(config)["train_batch_size"] == size


@pytest.mark.parametrize(("devices", "parts", "size"), [(1, 4, 25), (2, 5, 10), (1, None, 100)])
def test_accumulated_gradients_are_of_parts_of_the_global_batch(devices, parts, size):
    trainer = {"devices": devices, "accumulate_grad_batches": parts}
    config = {"trainer": trainer, "data": {"train_batch_size": 100}, "stages": ["fit"]}
    assert data_settings(config)["train_batch_size"] == size


def test_parts_that_cannot_keep_the_global_batch_are_refused():
    trainer = {"devices": 2, "accumulate_grad_batches": 3}
    config = {"trainer": trainer, "data": {"train_batch_size": 100}, "stages": ["fit"]}
    with pytest.raises(UserError, match=r"batch of 100 cannot be kept on 2 devices in 3 parts"):
        data_settings(config)


def test_every_argument_of_a_constructor_is_a_key(project):
    """Also one that the file does not name, or that a class hands to the class above it."""
    run = plan_run("toy/coin", ["method.doomed=0.5"])
    assert run.config["method"]["doomed"] == 0.5
    assert run == plan_run("toy/coin", ["+method.doomed=0.5"])
    with pytest.raises(UserError, match=r"did you mean 'method.doomed'"):
        plan_run("toy/coin", ["method.dooned=0.5"])
    run = plan_run("dnfs/independent_sets", ["network.readout_scale=0.1"])
    assert run.config["method"]["network"]["readout_scale"] == 0.1


@pytest.mark.parametrize("text", ["[0,2", "0,2]", "[]", "[0,x]"])
def test_seeds_need_both_brackets(text):
    with pytest.raises(UserError, match="give a number of seeds"):
        seeds(text, 3)
    assert list(seeds("[0,2]", 3)) == list(seeds("0,2", 3)) == [0, 2]


def test_an_option_that_does_not_exist_is_told_with_the_nearest():
    with pytest.raises(UserError, match="no target 'isng'; did you mean 'ising'"):
        plan_run("dasbs/exact", ["target=isng"])
    with pytest.raises(UserError, match="no target/sgdd 'grid_men'; did you mean 'grid_mean'"):
        plan_run("sgdd/table2", ["target=sgdd/grid_men"])


def test_an_override_that_cannot_be_read_is_named():
    with pytest.raises(UserError, match=r"data.n_samples=\[5: no viable alternative") as caught:
        plan_run("sgdd/table2", ["data.n_samples=[5"])
    assert "(None)" not in str(caught.value)


def test_a_key_of_a_node_below_is_named():
    with pytest.raises(UserError, match=r"did you mean 'method\.co[a-z]+\.buffer_size'"):
        plan_run("dasbs/exact", ["method.buffer_size=3"])


def test_a_setting_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(UserError, match=r"settings has no n4; it has n3, n5, .*n200$"):
        plan_run("symmetric_diffusers/sort_diffsort", ["data.length=4"])
