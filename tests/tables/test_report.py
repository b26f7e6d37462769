"""The report page, recorded results and what the READMEs show of them."""

import json

from toys import table_json

from jumpbench.cli import main
from jumpbench.paths import suite_root


def test_list_report_and_recorded_results(project, capsys):
    assert main(["report"]) == 2
    assert "no table has been made yet" in capsys.readouterr().err
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main(["report"]) == 0
    assert (
        "../tables/toy/coins/smoke/table.html"
        in (project / "outputs/report/index.html").read_text()
    )
    readme = project / "reproduce/toy/README.md"
    readme.write_text("# toy\n<!-- results -->\nSTALE\n<!-- /results -->\nend\n")
    above = project / "README.md"
    above.write_text("<!-- tables -->\n<!-- /tables -->\n")
    ours = suite_root() / "README.md"
    before = ours.read_text()
    assert main(["report", "--record", "toy/coins", "scale=smoke", "--readme"]) == 0
    assert "toy/coins" in above.read_text() and ours.read_text() == before
    recorded = project / "reproduce/toy/results/coins.smoke.json"
    assert json.loads(recorded.read_text()) == table_json(project)
    text = readme.read_text()
    assert "| fair | 0.5" in text and "STALE" not in text and text.endswith("-->\nend\n")
    assert "Regenerate with `reproduce/run_table.sh toy/coins scale=smoke`." in text
    assert main(["list"]) == 0
    assert "smoke" in capsys.readouterr().out


def test_a_table_is_recorded_whole(project, capsys):
    """Also after calls for parts of it: what was never made is recorded as not run."""
    record = ["report", "--record", "toy/coins", "scale=smoke"]
    assert main(record) == 2
    assert "no finished run at scale smoke" in capsys.readouterr().err
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert {cell["row"] for cell in table_json(project)["cells"]} == {"fair"}
    assert main([*record, "rows=fair"]) == 2
    assert "recorded whole" in capsys.readouterr().err
    assert main([*record, "launcher=serial"]) == 2
    assert "makes no run" in capsys.readouterr().err
    assert main(record) == 0
    cells = json.loads((project / "reproduce/toy/results/coins.smoke.json").read_text())["cells"]
    assert len(cells) == 7 and cells == table_json(project)["cells"]
    asked = [(cell["row"] == "fair", cell["status"]) for cell in cells if cell["asked"]]
    assert set(asked) == {(True, "measured"), (False, "missing")}
    # runs with overrides are other runs, and are recorded by naming these
    capsys.readouterr()
    chosen = ["seeds=[2, 3]", "data.n=7"]
    assert main([*record, *chosen]) == 2
    assert "no finished run" in capsys.readouterr().err
    # the README names the command that makes what was recorded
    readme = project / "reproduce/toy/README.md"
    readme.write_text("<!-- results -->\n<!-- /results -->\n")
    assert main(["table", "toy/coins", "scale=smoke", "rows=biased", *chosen]) == 0
    assert main([*record, *chosen, "--readme"]) == 0
    assert (
        "`reproduce/run_table.sh toy/coins scale=smoke 'seeds=[2, 3]' data.n=7`"
        in readme.read_text()
    )
