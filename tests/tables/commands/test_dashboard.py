"""The W&B workspace of a table: what it shows is what the mirrors hold. Nothing is sent."""

import json

import pytest
from wandb_server import stand_in

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.commands import dashboard
from jumpbench.tables.language.spec import load

WORKSPACES = "wandb_workspaces"


@pytest.fixture
def without_key(monkeypatch, tmp_path):
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


def test_a_workspace_shows_the_runs_of_one_table_at_one_scale(project):
    pytest.importorskip(WORKSPACES, reason="pip install -e '.[dashboard]'")
    made = dashboard.workspace(load("toy/coins"), "smoke", "mine", "me")
    assert (made.entity, made.project, made.name) == ("me", "mine", "toy/coins@smoke")
    results, training, whole = made.sections
    assert [panel.metrics for panel in results.panels] == [["results/mean"]]
    assert results.panels[0].title == "mean \u2193"
    assert [panel.y for panel in training.panels] == [["train/loss"]]
    assert whole.panels[0].table_name == "cells" and len(whole.panels) == 1  # without figures
    runs = made.runset_settings
    assert "".join(str(runs.filters).split()) == "Metric(\"Group\")=='toy/coins@smoke'"
    assert [by.name for by in runs.groupby] == ["row", "column"]
    for panel in (*results.panels, *training.panels):
        assert panel.groupby.name == "row"
    assert training.panels[0].groupby_rangefunc == "minmax"
    sent = json.loads(made._to_model().model_dump_json(by_alias=True))
    text = json.dumps(sent)
    assert '"toy/coins@smoke"' in text and '"group"' in text
    for name in ("results/mean", "train/loss", "cells"):
        assert name in text, name


def test_figures_of_the_table_are_shown(project):
    pytest.importorskip(WORKSPACES, reason="pip install -e '.[dashboard]'")
    file = project / "reproduce/toy/coins.yaml"
    file.write_text(file.read_text().replace("figures: []\n", ""))
    whole = dashboard.workspace(load("toy/coins"), "smoke", "mine", "me").sections[-1]
    assert whole.panels[1].media_keys == ["figures/results"]


def test_metrics_have_the_names_that_rows_give_them():
    table = load("dnfs/table1")
    drop = dashboard.sources(table, table.metrics["drop"])
    assert drop == [f"results/drop@{way}" for way in ("solver", "flow", "dmala_5", "policy")]


def test_without_package_or_key_it_says_how_to_get_them(project, without_key, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["dashboard", "toy/coins"]) == 2
    assert "pip install -e '.[dashboard]'" in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert main(["dashboard", "toy/coins", "scale=smoke"]) == 2
    shown = capsys.readouterr().err
    assert "wandb login" in shown and shown.count("\n") == 1


def test_what_the_server_refuses_is_one_line(project, monkeypatch):
    pytest.importorskip(WORKSPACES, reason="pip install -e '.[dashboard]'")

    def refuse(view):
        raise ValueError("no such\nproject")

    monkeypatch.setattr("wandb_workspaces.workspaces.internal.upsert_view2", refuse)
    with pytest.raises(UserError, match="W&B: no such project"):
        dashboard.dashboard("toy/coins", "smoke", "mine", "me")
    with pytest.raises(UserError, match="no medium scale"):
        dashboard.dashboard("toy/coins", "medium", "mine", "me")


def test_a_report_holds_claims_numbers_panels_and_the_command(project, monkeypatch, capsys):
    """Sent to a stand-in of the server, and read back from what it was sent."""
    pytest.importorskip(WORKSPACES, reason="pip install -e '.[dashboard]'")
    file = project / "reproduce/toy/coins.yaml"
    file.write_text(file.read_text().replace("figures: []\n", ""))
    assert main(["table", "toy/coins", "scale=small"]) == 0
    monkeypatch.setenv("WANDB_SILENT", "true")
    with stand_in(monkeypatch) as server:
        assert main(["dashboard", "toy/coins", "--report", "project=mine"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("http://127.0.0.1")
    (sent,) = server.sent("upsertView")
    assert (sent["entityName"], sent["projectName"], sent["type"]) == ("me", "mine", "runs")
    blocks = json.loads(sent["spec"])["blocks"]
    claims, numbers = (b["content"] for b in blocks if b["type"] == "markdown-block")
    assert "The fair coin is lowest." in claims and "The fair coin is lowest." not in numbers
    assert "| fair |" in numbers and "(paper 0.50)" in numbers
    grids = [b["metadata"] for b in blocks if b["type"] == "panel-grid"]
    assert len(grids) == 3 and all("toy/coins@small" in json.dumps(g["runSets"]) for g in grids)
    panels = json.dumps(grids)
    for name in ("results/mean", "train/loss", "cells", "figures/results"):
        assert name in panels, name
    assert "reproduce/run_table.sh toy/coins scale=small" in json.dumps(blocks[-2])


def test_a_report_of_nothing_says_how_to_make_the_table(project, monkeypatch, capsys):
    pytest.importorskip(WORKSPACES, reason="pip install -e '.[dashboard]'")
    assert main(["dashboard", "toy/coins", "--report", "project=mine", "entity=me"]) == 2
    assert "jumpbench table toy/coins scale=small" in capsys.readouterr().err
