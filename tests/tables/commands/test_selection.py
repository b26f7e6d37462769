"""A part of a table, an overridden one and one from another file: what is written and judged."""

import json

import pytest
from filelock import FileLock
from toys import table_json

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.names import select
from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.runs import LOCK
from jumpbench.tables.views.tablefiles import TableFiles


def test_a_part_never_replaces_the_whole(project, capsys):
    """Files hold the whole table from all finished runs; a selection limits what is printed."""
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    whole = table_json(project)
    capsys.readouterr()
    assert main(["table", "toy/coins", "scale=smoke", "rows=biased", "columns=small n"]) == 0
    printed = capsys.readouterr().out
    assert "Part of the table" in printed and "1 of 1 cells" in printed and "large n" not in printed
    assert table_json(project)["cells"] == whole["cells"]
    page = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    assert "Part of" not in page and "5 of 5 cells" in page
    # further seeds stay in it, also after calls that do not name them
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair", "seeds=3"]) == 0
    assert main(["table", "toy/coins", "scale=smoke", "rows=biased"]) == 0
    cells = {(c["row"], c["column"]): c for c in table_json(project)["cells"]}
    assert cells["fair", "small n"]["n_seeds"] == 3 and cells["biased", "small n"]["n_seeds"] == 1
    assert {cells[key]["status"] for key in cells} == {"measured", "cited"}
    assert [value["seed"] for value in cells["fair", "small n"]["values"]] == [0, 1, 2]


def test_fewer_seeds_than_the_scale_has_are_a_part(project, capsys):
    """What was asked for is made, so the call succeeds; nothing is judged by it."""
    assert main(["table", "toy/coins", "seeds=1", "rows=fair,biased"]) == 0
    content = table_json(project, "small")
    cells = [c for c in content["cells"] if c["row"] in ("fair", "biased")]
    assert {(c["status"], c["note"], c["verdict"]) for c in cells} == {
        ("partial", "1 of 2 seeds", None)
    }
    assert content["claims"][0]["holds"] is None
    assert "[partial]" in capsys.readouterr().out


@pytest.mark.slow
def test_what_overrides_change_has_a_place_of_its_own_and_is_not_judged(project, own_page, capsys):
    assert main(["table", "toy/coins"]) == 0
    before = (project / "outputs/tables/toy/coins/small/table.json").read_text()
    chosen = ["rows=fair,biased", "method.n_samples=50"]
    assert main(["table", "toy/coins", *chosen]) == 0
    printed = capsys.readouterr().out
    assert "Changed by overrides: method.n_samples=50" in printed
    (folder,) = (project / "outputs/tables/toy/coins").glob("small+*")
    assert (project / "outputs/tables/toy/coins/small/table.json").read_text() == before
    content = json.loads((folder / "table.json").read_text())
    assert {cell["verdict"] for cell in content["cells"]} == {None}
    assert [claim["holds"] for claim in content["claims"]] == [None, None]
    assert "method.n_samples=50" in content["claims"][0]["detail"]
    assert {c["status"] for c in content["cells"] if c["row"] == "walk"} == {"missing"}
    for name in ("table.md", "table.tex", "table.html"):
        assert "method.n_samples=50" in (folder / name).read_text()
    # a device changes no number, and is no change
    assert main(["table", "toy/coins", "trainer.accelerator=cpu"]) == 0
    assert len(list((project / "outputs/tables/toy/coins").iterdir())) == 2
    assert main(["report"]) == 0
    page = (project / "outputs/report/index.html").read_text()
    assert "Changed by overrides: method.n_samples=50. Nothing here is judged." in page


def test_a_file_in_the_place_of_the_suites_is_told_and_not_judged(project, capsys):
    own = project / "reproduce/sgdd/table2.yaml"
    own.parent.mkdir()
    text = (suite_root() / "reproduce/sgdd/table2.yaml").read_text()
    own.write_text(text.replace("D=2: 0.149", "D=2: 0.249"))
    status = main(["status", "sgdd/table2", "rows=SGDD", "columns=D=2"])
    assert status == 1  # nothing is made; the plan is enough here
    plan = TablePlan(load("sgdd/table2"), Selection(rows="SGDD", columns="D=2"))
    files = TableFiles(plan)
    assert plan.folder.name.startswith("small+") and str(own) in files.not_judged
    assert str(own) in files.write().not_judged


def test_names_with_commas_are_found_in_a_list():
    known = ["DASBS", "DASBS (warm)", "DASBS (warm, long)", "M=20, exact", "M=20"]
    for wanted, chosen in {
        "DASBS (warm, long)": known[2:3],
        "DASBS,DASBS (warm, long),M=20": [known[0], known[2], known[4]],
        "[M=20, exact, DASBS*]": known[:4],
        "M=20,exact,": None,
    }.items():
        if chosen is None:
            with pytest.raises(UserError, match="no row 'exact'"):
                select("row", wanted, known)
        else:
            assert select("row", wanted, known) == chosen


def test_two_calls_on_one_table_keep_the_seeds_of_both(project):
    """What a call makes, counts and answers for stays its own."""
    first = TableFiles(TablePlan(load("toy/coins"), Selection("smoke", "1")))
    first.write()
    asked = [run.id for run in first.plan.runs]
    second = TableFiles(TablePlan(load("toy/coins"), Selection("smoke", "[0,2]")))
    second.write()
    first.write()  # a refresh of the call that began before
    assert table_json(project)["seeds"] == [0, 2]
    (cell,) = {len(c["run_ids"]) for c in table_json(project)["cells"] if c["asked"]}
    assert cell == 2
    assert [run.id for run in first.plan.runs] == [run.id for run in first.runs()] == asked
    assert {run.seed for entry in first.plan.part for run in entry.runs} == {0}


def test_calls_on_one_table_write_in_turn(project):
    files = TableFiles(TablePlan(load("toy/coins"), Selection("smoke")))
    view = files.write()
    file = files.plan.folder / "table.json"
    before = file.stat().st_mtime_ns
    with FileLock(files.plan.folder / LOCK):  # another call writes what it has seen
        assert files.write().cells == view.cells
    assert file.stat().st_mtime_ns == before
    files.write()
    assert file.stat().st_mtime_ns > before
