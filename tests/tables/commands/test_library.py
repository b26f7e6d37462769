"""In Python as on the command line."""

import subprocess
import sys

import pytest

import jumpbench
from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.planning.plan import plan_run


def test_a_table_is_made_and_comes_as_rows_of_its_part(project, capfd):
    made = jumpbench.table("toy/coins", scale="smoke", rows=["fair"], columns=["small n"])
    assert len(made) == 1 and (made[0]["row"], made[0]["column"]) == ("fair", "small n")
    run = plan_run("toy/coin", ["method.bias=0.5"])
    assert (
        made[0]["run"] == run.id and made[0]["value"] == jumpbench.load_run(run.id).metrics["mean"]
    )
    assert capfd.readouterr().out == ""  # nothing is printed but progress
    assert made == [r for r in jumpbench.load_table("toy/coins", "smoke") if r in made]


def test_patterns_seeds_and_overrides_are_those_of_the_command_line(project):
    made = jumpbench.table(
        "toy/coins", "smoke", rows="*i*", columns="small n", seeds=[1, 2],
        overrides=["method.n_samples=30"],
    )  # fmt: skip
    assert [(r["row"], r["seed"]) for r in made] == [
        ("fair", 1), ("fair", 2), ("biased", 1), ("biased", 2),
    ]  # fmt: skip
    words = ["rows=*i*", "columns=small n", "seeds=[1,2]", "method.n_samples=30"]
    runs = sorted((project / "outputs/runs/toy").iterdir())
    main(["table", "toy/coins", "scale=smoke", *words])
    assert sorted((project / "outputs/runs/toy").iterdir()) == runs  # nothing was left to do


def test_what_failed_says_so_in_its_row(project):
    (made,) = jumpbench.table(
        "toy/coins", "smoke", "fair", "small n", overrides="method.fail=broken"
    )
    assert (made["status"], made["value"], made["run"]) == ("failed", None, None)


def test_bad_input_is_told_before_anything_runs(project):
    with pytest.raises(UserError, match="did you mean 'fair'"):
        jumpbench.table("toy/coins", "smoke", rows=["fiar"])
    with pytest.raises(UserError, match="has no options"):
        jumpbench.table("toy/coins", "smoke", overrides=["launcher.cpus=1"])
    assert not (project / "outputs/runs").exists()


def test_a_run_is_made_and_loaded(project):
    run = jumpbench.run("toy/walk", ["trainer.max_steps=4"], seed=3)
    assert run.metrics["run/steps"] == 4 and run.config["seed"] == 3
    assert float(run.method.position.detach().double().sum()) == run.metrics["mean"]
    with pytest.raises(UserError, match="broken"):
        jumpbench.run("toy/coin", "method.fail=broken")


def test_tables_are_listed_and_a_malformed_one_is_told(project, capsys):
    (project / "reproduce/toy/odd.yaml").write_text("title: [")
    listed = {entry["table"]: entry for entry in jumpbench.tables()}
    coins = listed["toy/coins"]
    assert coins["title"] == "Toy" and coins["cost"] == "A" and list(coins["scales"]) == [
        "smoke", "small", "paper",
    ]  # fmt: skip
    assert "sgdd/table2" in listed and "toy/odd" not in listed
    assert "malformed: " in capsys.readouterr().err


def test_the_names_are_there_without_the_engine():
    """``import jumpbench`` alone imports none of it, and its packages stay packages."""
    code = (
        "import sys, jumpbench; dir(jumpbench)\n"
        "assert not {'jumpbench.tables', 'torch', 'rich', 'lightning'} & set(sys.modules)\n"
        "import jumpbench.tables.planning.grid as grid\n"
        "assert callable(jumpbench.tables) and jumpbench.tables.planning.grid is grid\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
