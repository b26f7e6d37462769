import pytest

from jumpbench.errors import UserError
from jumpbench.tables.grid import Selection, build, seeds, unique_runs
from jumpbench.tables.plan import plan_run
from jumpbench.tables.spec import load


def test_identity_ignores_what_cannot_change_a_result(project):
    base = plan_run("toy/coin")
    for same in (
        ["trainer.accelerator=cpu"],
        ["trainer.devices=2"],
        ["logger=wandb"],
        ["checkpoint_every=7"],
        ["name=other"],
        ["+data.num_workers=3"],
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
