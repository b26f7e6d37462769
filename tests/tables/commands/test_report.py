"""The report page, recorded results and what the pages show of them."""

import json

import pytest
from toys import table_json

from jumpbench.cli.main import main
from jumpbench.paths import outputs_root, suite_root
from jumpbench.tables.commands import recorded, recording
from jumpbench.tables.commands.recorded import write_record
from jumpbench.tables.planning.constructors import targets
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import codeage
from jumpbench.tables.runs.imports import imported

RECORD = ["report", "--record", "toy/coins", "scale=smoke"]


def test_list_report_and_recorded_results(project, capsys, monkeypatch):
    # the suite's own records are shown too; here only the toy's are wanted
    monkeypatch.setattr("jumpbench.tables.commands.report_page.shown", lambda: ["toy/coins"])
    assert main(["report"]) == 2
    assert "no table has been made yet" in capsys.readouterr().err
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main(["report"]) == 0
    made = (project / "outputs/report/index.html").read_text()
    assert 'id="toy-coins"' in made and "Toy, smoke run" in made
    readme = project / "reproduce/toy/README.md"
    readme.write_text(
        "# toy\n<!-- results -->\nSTALE\n<!-- /results -->\n<!-- result:toy/coins.smoke -->\n"
        "<!-- /result:toy/coins.smoke -->\nend\n"
    )
    above = project / "README.md"
    above.write_text("<!-- tables -->\n<!-- /tables -->\n")
    ours = suite_root() / "README.md"
    before = ours.read_text()
    assert main([*RECORD, "--readme"]) == 0
    assert "toy/coins" in above.read_text() and ours.read_text() == before
    content = json.loads((project / "reproduce/toy/results/coins.smoke.json").read_text())
    assert content == table_json(project)
    page = (project / "reproduce/toy/RESULTS.md").read_text()
    assert "| fair | 0.4" in page and '<a id="coins-smoke"></a>' in page
    assert "Regenerate with `reproduce/run_table.sh toy/coins scale=smoke`." in page
    text = readme.read_text()
    assert "STALE" not in text and text.endswith("-->\nend\n")
    assert "- [Toy, smoke run](RESULTS.md#coins-smoke), smoke: 5/5 cells." in text
    assert text.count("| fair | 0.4") == 1  # the one that names a record whole
    assert main(["report", "--readme"]) == 0  # nothing to renew
    assert main(["list"]) == 0
    assert "smoke" in capsys.readouterr().out


def test_what_is_refused_is_refused_before_a_record_is_written(project, capsys):
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main([*RECORD, "port=8000"]) == 2
    assert "port= belongs to --serve" in capsys.readouterr().err
    assert not (project / "reproduce/toy/results").exists()


def test_the_overview_separates_paper_setting_and_miniature(project):
    for scale in ("small", "paper"):
        assert main(["table", "toy/coins", f"scale={scale}", "rows=fair"]) == 0
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace(", compare: true", ""))  # small is a miniature
    for scale in ("small", "paper"):
        assert main(["report", "--record", "toy/coins", f"scale={scale}"]) == 0
    (project / "README.md").write_text("<!-- tables -->\n<!-- /tables -->\n")
    assert main(["report", "--readme"]) == 0
    head, _, row = (project / "README.md").read_text().splitlines()[1:4]
    assert head.split(" | ")[-4:] == ["paper setting", "own setting", "medium", "miniature |"]
    paper, own, medium, miniature = row.split(" | ")[-4:]
    assert "[paper](reproduce/toy/RESULTS.md#coins-paper): 2/5 cells; 2 ≈" in paper
    assert "claims: 1 open, 1 not judged" in paper and own == medium == "–"
    assert "[small]" in miniature and "claims" not in miniature and "≈" not in miniature


def test_a_table_is_recorded_whole_and_as_it_is_published(project, capsys):
    """Also after calls for parts of it: what was never made is recorded as not run."""
    assert main(RECORD) == 2
    assert "no finished run at scale smoke" in capsys.readouterr().err
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main([*RECORD, "rows=fair"]) == 2
    assert "recorded whole" in capsys.readouterr().err
    assert main([*RECORD, "launcher=serial"]) == 2
    assert "makes no run" in capsys.readouterr().err
    assert main([*RECORD, "data.n=7"]) == 2
    assert "changed by overrides" in capsys.readouterr().err
    assert main(RECORD) == 0
    file = project / "reproduce/toy/results/coins.smoke.json"
    cells = json.loads(file.read_text())["cells"]
    assert len(cells) == 7 and cells == table_json(project)["cells"]
    asked = [(cell["row"] == "fair", cell["status"]) for cell in cells if cell["asked"]]
    assert set(asked) == {(True, "measured"), (False, "missing")}
    # the page names the command that makes what was recorded
    assert main(["table", "toy/coins", "scale=smoke", "rows=biased", "seeds=[0, 2]"]) == 0
    assert main([*RECORD, "--readme"]) == 0
    page = (project / "reproduce/toy/RESULTS.md").read_text()
    assert "`reproduce/run_table.sh toy/coins scale=smoke 'seeds=[0,2]'`" in page


def test_a_record_names_no_folder_of_this_machine(project, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_DATA", str(project / "data"))
    monkeypatch.setenv("HOME", str(project / "home"))
    places = [outputs_root() / "runs/x", project / "data/mnist", project / "home/.cache"]
    cell = {"note": f"put it into {', '.join(map(str, places))}"}
    path = write_record("toy/coins", "smoke", {"cells": [cell]})
    said = json.loads(path.read_text())["cells"][0]["note"]
    assert said == "put it into $JUMPBENCH_OUTPUTS/runs/x, $JUMPBENCH_DATA/mnist, ~/.cache"


@pytest.mark.parametrize("damage", ["{}", "[]", "", '{"cells": 3}', '{"cells": [1]}'])
def test_damaged_records_and_tables_are_named(project, own_page, capsys, damage):
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(RECORD) == 0
    file = project / "reproduce/toy/results/coins.smoke.json"
    file.write_text(damage)
    capsys.readouterr()
    assert main(["report", "--readme"]) == 2
    shown = capsys.readouterr().err
    assert str(file) in shown and shown.count("\n") == 1
    (project / "outputs/tables/toy/coins/smoke/table.json").write_text(damage)
    assert main(["report"]) == 0
    assert "damaged" in (project / "outputs/report/index.html").read_text()
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0


def test_recording_warns_of_runs_that_are_older_than_their_code(project, capsys, monkeypatch):
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(
        "jumpbench.tables.judging.table_provenance.is_outdated", lambda config, origin: True
    )
    assert main(RECORD) == 0
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and shown.startswith("warning: 2 of 2 runs")
    assert "are older than the code of their method (toy/" in shown and "; fresh=true" in shown
    file = project / "outputs/tables/toy/coins/smoke/table.md"
    assert "2 of 2 runs are older than the code of their method" in file.read_text()


def test_the_code_of_a_run_is_its_modules_and_what_they_import(project):
    config = plan_run("sgdd/table2", ["target.length=2"]).config
    called = {node["_target_"] for _, node in targets(config["method"])}
    files = set().union(*map(imported, called))
    names = {str(path.relative_to(suite_root() / "src/jumpbench")) for path in files}
    assert "methods/sgdd/module.py" in names and "methods/common/base.py" in names
    assert not any("dasbs" in name or "cli" in name for name in names)
    assert not codeage.is_outdated(config, {"commit": None})
    assert not codeage.is_outdated(config, {"commit": "0" * 40})  # which the checkout lacks


def test_an_installed_package_is_never_written_into(project, monkeypatch):
    monkeypatch.delenv("JUMPBENCH_REPRODUCE")
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "outputs"))
    inside = suite_root() / "reproduce/sgdd/results/table2.small.json"
    assert recorded.place_for_record("sgdd/table2", "small") == inside
    monkeypatch.setattr("jumpbench.tables.commands.recorded.checkout", lambda: None)
    place = recorded.place_for_record("sgdd/table2", "small")
    assert place == project / "outputs/recorded/sgdd/results/table2.small.json"


@pytest.mark.slow
def test_a_verdict_at_two_scales_is_listed_at_the_larger(project):
    """And at both where they differ."""
    for scale in ("small", "paper"):
        assert main(["table", "toy/coins", f"scale={scale}"]) == 0
        assert main(["report", "--record", "toy/coins", f"scale={scale}"]) == 0
    readme = project / "reproduce/toy/README.md"
    readme.write_text("<!-- results -->\n<!-- /results -->\n")
    assert main(["report", "--readme"]) == 0
    lines = readme.read_text().splitlines()
    (claim,) = [i for i, line in enumerate(lines) if "**" in line]
    assert lines[claim - 1].startswith("- [Toy](RESULTS.md#coins-paper)")
    small = project / "reproduce/toy/results/coins.small.json"
    content = json.loads(small.read_text())
    for cell in content["cells"]:  # the fair coin is far higher there
        if cell["row"] == "fair":
            cell["values"] = [{**value, "value": 9 + value["value"]} for value in cell["values"]]
            cell["measured"] += 9
    small.write_text(json.dumps(content))
    assert main(["report", "--readme"]) == 0
    assert sum("**" in line for line in readme.read_text().splitlines()) == 2


def test_a_record_names_what_its_scale_leaves_out_and_holds_no_cell_of_it():
    def cell(row, column, asked=False, paper=None):
        return {"row": row, "column": column, "asked": asked, "paper": paper, "status": "missing"}

    part = [cell("a", "x", asked=True), cell("b", "y", asked=True)]
    gaps = [cell("a", "y"), cell("b", "x")]
    outside = [cell(row, column) for row in "abc" for column in "xyz"]
    outside = [c for c in outside if c["row"] == "c" or c["column"] == "z"]
    printed = [cell("d", "x", paper=1.0)]
    kept = recording._of_the_scale([*part, *gaps, *outside, *printed])
    assert [c for c in kept if c in (*part, *gaps, *printed)] == [*part, *gaps, *printed]
    rest = [c for c in kept if c in outside]
    assert {c["row"] for c in rest} >= {"c"} and {c["column"] for c in rest} >= {"z"}
    assert len(rest) == 2
