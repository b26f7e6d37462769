"""How much there is to read after a call: numbers last, on one screen; the rest on demand."""

import shlex

import pytest
from toys import TABLE

from jumpbench.cli.main import main
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.language.spec import load
from jumpbench.tables.views.layout import blocks, not_run
from jumpbench.tables.views.panels import panels
from jumpbench.tables.views.unfinished import _parted, rest_command, unrun
from jumpbench.tables.views.wording import named

SCREEN = 24
METRICS = "".join(
    f"  {name}: {{label: A longer name of {name}, source: mean, better: lower, digits: 3}}\n"
    for name in ("first", "second", "third")
)


@pytest.fixture
def printed(project, capsys, monkeypatch):
    """Print a part of the toy table; the lines that a terminal of 80 columns shows."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words, table=TABLE):
        (project / "reproduce/toy/coins.yaml").write_text(table)
        main(["table", "toy/coins", "scale=smoke", *words])
        lines = capsys.readouterr().out.splitlines()
        return [line[i : i + 80] for line in lines for i in range(0, max(len(line), 1), 80)]

    return run


def test_a_smoke_table_of_three_rows_fits_a_screen_and_ends_with_its_numbers(printed):
    """With four metrics, claims and notes."""
    noted = TABLE.replace("{name: fair, ", "{name: fair, note: A coin of Rome., ")
    noted = noted.replace("experiment: toy/coin\n", METRICS + "experiment: toy/coin\n", 1)
    lines = printed(table=noted)
    assert len(lines) <= SCREEN, "\n".join(lines)
    assert lines[-1].startswith(("walk *", "floor (perfect)"))
    text = "\n".join(lines)
    assert "A coin of Rome." not in text and "lowest." not in text
    assert "Claims: 2 not judged; 2 notes (notes=true)" in lines
    more = "\n".join(printed("notes=true", table=noted))
    assert "A coin of Rome." in more and "The fair coin is lowest." in more
    assert "*: our row" in more and "(notes=true)" not in more


def test_metrics_stand_side_by_side_where_they_fit(printed):
    noted = TABLE.replace("experiment: toy/coin\n", METRICS + "experiment: toy/coin\n", 1)
    heads = [line for line in printed("rows=fair", table=noted) if line.count("small n") > 0]
    assert heads[0].count("small n") == heads[0].count("large n") >= 2


def test_rows_that_were_not_run_are_one_line_with_their_command(printed, project):
    printed("rows=fair")
    lines = (project / "outputs/tables/toy/coins/smoke/table.md").read_text().splitlines()
    command = "jumpbench table toy/coins scale=smoke"
    assert f"Not run: biased, walk. This makes the rest: `{command}`" in lines
    assert not any(line.startswith(("| biased", "| walk")) for line in lines)
    page = (project / "outputs/tables/toy/coins/smoke/table.html").read_text()
    assert f"This makes the rest: <code>{command}</code>" in page
    printed()  # what the line says
    whole = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    assert "Not run" not in whole and "| biased |" in whole and "| walk * |" in whole


def test_a_table_of_which_nothing_was_run_shows_its_rows(project):
    from jumpbench.tables.planning.selection import Selection
    from jumpbench.tables.planning.tableplan import TablePlan
    from jumpbench.tables.views.tablefiles import TableFiles

    view = TableFiles(TablePlan(load("toy/coins"), Selection("smoke"))).write()
    assert not_run(view) == [] and unrun(view) == ""
    (block,) = blocks(view)
    assert [row for row, _ in block.rows] == ["fair", "biased", "walk *"]
    assert [panel.blocks for panel in panels([block], lambda b: 1, 9)] == [(block,)]


def test_claims_come_first_and_notes_are_folded_in_markdown(printed, project):
    printed()
    text = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    claims, numbers = text.index("The fair coin is lowest."), text.index("| fair |")
    notes = text.index("<details><summary>Notes</summary>")
    assert claims < numbers < notes < text.index("our row, not in the paper.")


def test_columns_that_were_not_run_are_named_in_that_line_too(printed, project):
    plain = TABLE.split("published:")[0] + "scales:" + TABLE.split("scales:")[1]
    plain = plain.replace("name: large n", 'name: "large, n"')
    printed("rows=fair,biased", "columns=small n", table=plain)
    lines = (project / "outputs/tables/toy/coins/smoke/table.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("Not run")]
    command = "jumpbench table toy/coins scale=smoke"
    assert line == f"Not run: walk; large, n. This makes the rest: `{command}`"
    assert not any("large" in line for line in lines if line.startswith("|"))
    printed(table=plain)  # what the line says
    whole = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    assert "Not run" not in whole and "large, n" in whole


def test_rows_run_in_part_are_named_with_the_columns_that_lack(printed, project):
    """Where another row has the column, and where published numbers keep it in sight."""
    printed("rows=fair", "columns=small n")
    printed("rows=biased")
    text = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    assert "Not run: walk. Run in part: fair (not large n). This makes the rest: `" in text
    printed("rows=walk,fair")
    text = (project / "outputs/tables/toy/coins/smoke/table.md").read_text()
    assert "Run in part" not in text and "This makes" not in text


def test_many_names_are_cut_and_commas_in_one_part_none():
    names = [f"row {i}" for i in range(20)]
    assert named(names) == ", ".join(names[:12]) + " and 8 more"
    assert _parted(["a, b", "c"]) == "a, b; c" and _parted(["a", "c"]) == "a, c"


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_command_of_the_rest_is_one_line_that_a_shell_takes(
    project, capsys, monkeypatch, width
):
    """With the call's own choice; no words of it are lost at the terminal's edge."""
    monkeypatch.setenv("COLUMNS", width)
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    monkeypatch.setattr("jumpbench.tables.commands.reproduction._make", lambda *_: None)  # stopped
    capsys.readouterr()
    words = ["table", "toy/coins", "scale=smoke", "seeds=1", "rows=fair,biased"]
    words += ["columns=small n,large n", "trainer.accelerator=cpu"]
    assert main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("Not run: biased. This makes the rest:")
    assert len(lines[at + 1]) > 80 and shlex.split(lines[at + 1]) == ["jumpbench", *words]


def test_what_a_record_has_is_not_made_again_for_the_rest(printed, project, capsys):
    printed("rows=fair")
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    table = load("toy/coins")
    view = recorded_view(table, read_record("toy/coins", "smoke"))
    assert rest_command(view) == "jumpbench table toy/coins scale=smoke recorded=true"
