"""Tables of one's own: folders that are searched before the suite's, and ``extends:``."""

import json
import os

import pytest

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.selection import Selection

FIVE_LINES = """\
extends: toy/coins
title: Toy with a coin of mine
rows:
  - name: mine
    overrides: [method.bias=0.3]
"""


@pytest.fixture
def own(project, monkeypatch):
    """A second folder of tables, before the toys' in JUMPBENCH_REPRODUCE."""
    folder = project / "own"
    (folder / "mine").mkdir(parents=True)
    monkeypatch.setenv("JUMPBENCH_REPRODUCE", f"{folder}:{project / 'reproduce'}")
    return folder


def written(own, text=FIVE_LINES, name="mine/coins"):
    path = own / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.slow
def test_five_lines_add_a_row_to_another_table(own, project, capsys):
    assert main(["table", "toy/coins", "scale=small"]) == 0
    first = json.loads((project / "outputs/tables/toy/coins/small/table.json").read_text())
    made = sorted((project / "outputs/runs/toy").iterdir())
    written(own)
    assert main(["table", "mine/coins", "scale=small"]) == 0
    shown = capsys.readouterr().out
    assert "Toy with a coin of mine" in shown and "mine *" in shown
    table = json.loads((project / "outputs/tables/mine/coins/small/table.json").read_text())
    new = [cell for cell in table["cells"] if cell["row"] == "mine"]
    assert len(new) == 2 and all(c["verdict"] is None and c["measured"] < 0.4 for c in new)
    # what the other file measures and says is untouched: the same runs, cells and claims
    assert [cell for cell in table["cells"] if cell["row"] != "mine"] == first["cells"]
    assert table["claims"] == first["claims"] and table["not_judged"] is None
    assert len(list((project / "outputs/runs/toy").iterdir())) == len(made) + 4


def test_claims_of_the_other_table_keep_their_columns_and_metrics(own):
    more = (
        "columns:\n  - {name: tiny n, overrides: [method.n_samples=9]}\n"
        "metrics:\n  other: {better: higher, source: mean}\n"
    )
    written(own, FIVE_LINES + more)
    table = load("mine/coins")
    assert [column.name for column in table.columns] == ["small n", "large n", "tiny n"]
    check = table.claims[0].check.best
    assert list(check.named_columns) == ["small n", "large n"]
    assert list(check.named_metrics) == ["mean"]
    assert table.rows[-1].ours and table.extends == "toy/coins"
    base = own.parent / "reproduce/toy/coins.yaml"
    base.write_text(
        base.read_text().replace("seeds: 2, compare", "seeds: 2, only_metrics: [mean], compare")
    )
    assert load("mine/coins").scales["small"].only_metrics == ("mean", "other")


def test_own_folders_come_first_and_the_suites_stay(own):
    assert {"toy/coins", "sgdd/table2"} <= set(available()) and "mine/coins" not in available()
    written(own, name="toy/coins")  # its own name: the next folder's is meant
    table = load("toy/coins")
    assert table.title == "Toy with a coin of mine" and table.rows[-1].name == "mine"
    written(own, name="sgdd/table2", text=FIVE_LINES.replace("toy/coins", "sgdd/table2"))
    ours = load("sgdd/table2")
    assert ours.foreign and ours.rows[-1].name == "mine"  # in the place of the suite's: told
    assert "foreign" not in (suite_root() / "reproduce/sgdd/table2.yaml").read_text()


CHANGES = [
    ("experiment: toy/walk", "line 6: experiment would change what toy/coins says"),
    ("overrides: [data.n=2]", "overrides would change"),
    ("paper_seeds: 3", "paper_seeds would change"),
    ("metrics: {mean: {better: higher}}", "metrics.mean would change"),
    ("published: {mean: {fair: {small n: 0.1}}}", "published.mean.fair.small n would change"),
    ("scales: {small: {seeds: 1}}", "scales.small.seeds would change"),
    ("scales: {small: {rows: {fair: [data.n=1]}}}", "scales.small.rows.fair would change"),
    ("columns: {}", "'columns' must be a list"),
    ("scales: [1]", "scales must be a mapping"),
    ("extend: toy/coins", "extend would change"),
]


@pytest.mark.parametrize(("line", "told"), CHANGES)
def test_an_extension_changes_nothing(own, line, told):
    path = written(own, FIVE_LINES + line + "\n")
    with pytest.raises(UserError, match="^" + str(path)) as error:
        load("mine/coins")
    assert told in str(error.value) and "\n" not in str(error.value)


def test_scales_take_up_the_new_row(own, project):
    table = project / "reproduce/toy/coins.yaml"
    text = table.read_text()
    table.write_text(text.replace("note: one seed,", "note: one seed, only_rows: [fair],"))
    written(own, FIVE_LINES + "scales: {smoke: {rows: {mine: [method.bias=0.2]}}}\n")
    smoke = load("mine/coins").scales["smoke"]
    assert smoke.only_rows == ("fair", "mine") and smoke.rows["mine"] == ("method.bias=0.2",)
    assert load("toy/coins").scales["smoke"].only_rows == ("fair",)


def test_mistakes_are_told_with_their_own_line(own):
    for old, new, line, told in (
        ("toy/coins", "toy/coin", 1, "no table 'toy/coin'; did you mean 'toy/coins'?"),
        ("toy/coins", "coins", 1, "extends names one table"),
        ("toy/coins", "mine/coins", 1, "no table 'mine/coins'"),
        ("name: mine", "name: fair", 4, "row 'fair' is defined twice"),
        ("name: mine", "nam: mine", 4, "unknown key 'nam' in rows[4]"),
        ("[method.bias=0.3]", "3", 5, "must be a list"),
    ):
        path = written(own, FIVE_LINES.replace(old, new))
        with pytest.raises(UserError) as error:
            load("mine/coins")
        assert str(error.value).startswith(f"{path} line {line}: "), error.value
        assert told in str(error.value)


def test_two_tables_cannot_extend_each_other(own):
    written(own)
    written(own, FIVE_LINES.replace("toy/coins", "mine/coins"), "mine/more")
    assert [row.name for row in load("mine/coins").rows][-1] == "mine"
    written(own, FIVE_LINES.replace("toy/coins", "mine/more"))
    with pytest.raises(UserError, match="extends"):
        load("mine/coins")


@pytest.mark.parametrize("variable", ["JUMPBENCH_REPRODUCE", "JUMPBENCH_CONF"])
def test_a_folder_that_does_not_exist_is_an_error(project, monkeypatch, capsys, variable):
    monkeypatch.setenv(variable, str(project / "nowhere"))
    assert main(["table", "toy/coins", "scale=smoke"]) == 2
    shown = capsys.readouterr().err
    assert f"{variable}: there is no folder {project / 'nowhere'}" in shown
    assert shown.count("\n") == 1


def test_ones_own_configuration_is_found_before_the_suites(project, monkeypatch):
    theirs = plan_run("sgdd/table2").config
    own, other = project / "conf", project / "other"
    replaced = other / "experiment/sgdd/table2.yaml"
    replaced.parent.mkdir(parents=True)
    suites = (suite_root() / "conf/experiment/sgdd/table2.yaml").read_text()
    replaced.write_text(suites)
    monkeypatch.setenv("JUMPBENCH_CONF", f"{own}{os.pathsep}{other}")
    plan.forget()
    assert Selection("smoke").changes == ()  # the same words in another place change nothing
    assert plan_run("sgdd/table2").config == theirs
    replaced.write_text(f"{suites}\nseed: 5\n")
    plan.forget()
    assert (theirs["seed"], plan_run("sgdd/table2").config["seed"]) == (0, 5)
    assert Selection("smoke").changes == (f"{replaced} in the place of the suite's",)
    label = Selection("smoke").label(load("toy/coins"))
    replaced.write_text(f"{suites}\nseed: 6\n")
    plan.forget()
    assert Selection("smoke").label(load("toy/coins")) not in (label, "smoke")
    # A group, and among one's own folders the first.
    step = "_target_: jumpbench.methods.sgdd.likelihood_step.MetropolisStep\n"
    for folder, proposals in ((other, 2), (own, 3)):
        (folder / "likelihood_step/sgdd").mkdir(parents=True)
        file = folder / "likelihood_step/sgdd/metropolis.yaml"
        file.write_text(f"{step}n_proposals: {proposals}\n")
    plan.forget()
    sampler = plan_run("sgdd/table2").config["method"]["sampler"]
    assert sampler["likelihood_step"]["n_proposals"] == 3
