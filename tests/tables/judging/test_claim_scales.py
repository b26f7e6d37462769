"""Claims beside the printed numbers, and at the scales that can decide them."""

import dataclasses
import json

import pytest
from claimed import claim_of, of_seeds

from jumpbench.cli.main import main
from jumpbench.tables.commands.recorded_views import OTHER_SETTINGS, recorded_view
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.claims import evaluate, in_print
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Claim
from jumpbench.tables.views.claimwords import claim_words, state
from jumpbench.tables.views.wording import made_by


@pytest.fixture
def table(project):
    return load("toy/coins")


def test_claims_stand_beside_the_papers_own_numbers(table):
    # printed: fair 0.5, 0.5; biased 0.7, 0.9
    def printed(check):
        return in_print(table, claim_of(check))

    assert printed({"best": {"row": "fair", "among": ["biased"]}}) == "holds"
    assert printed({"best": {"row": "biased", "among": ["fair"]}}) == "fails in 2 of 2"
    flat = {"trend": {"rows": ["fair", "biased"], "metric": "mean", "direction": "increasing"}}
    assert printed(flat) == "tied in 1 of 2"
    missing = {"best": {"row": "fair", "among": ["walk"], "column": "small n"}}
    assert printed(missing) == "not printed"
    some = {"order": {"rows": ["fair", "biased", "walk"], "metric": "mean", "column": "small n"}}
    assert printed(some) == "holds where printed; 1 of 2 not printed"
    assert in_print(table, Claim("c", "text", reason="none")) is None


def test_a_row_of_ours_may_stand_for_one_of_the_paper_in_print(table):
    check = {"order": {"rows": ["fair", "walk"], "metric": "mean", "column": "small n"}}
    assert in_print(table, claim_of(check)) == "not printed"
    rows = tuple(
        dataclasses.replace(row, ours=True, printed_as="biased") if row.name == "walk" else row
        for row in table.rows
    )
    assert in_print(dataclasses.replace(table, rows=rows), claim_of(check)) == "holds"


def test_a_claim_is_judged_at_the_scales_alone_that_it_names(table):
    check = {"best": {"row": "fair", "among": ["biased"]}}
    cells = [
        Cell(
            row, column, "mean", measured=value, values=of_seeds(value, 0.01, i), status="measured"
        )
        for i, (row, value) in enumerate((("fair", 0.5), ("biased", 0.9)))
        for column in ("small n", "large n")
    ]

    def result(scale, not_judged="", **claimed):
        changed = dataclasses.replace(table, claims=(claim_of(check, **claimed),))
        return evaluate(changed, cells, scale, not_judged)[0]

    only = {"paper": "another reason"}
    here = result("paper", scales=only)
    assert here["holds"] is True and here["because"] == "another reason"
    assert state(here) == "holds" and "judged here: another reason" in claim_words(here)
    there = result("small", scales=only)
    assert (there["holds"], there["because"], state(there)) == (None, None, "not judged")
    assert there["detail"] == "can be decided at paper, not at small"
    changed = result("paper", "why")
    assert (changed["holds"], changed["detail"], state(changed)) == (None, "why", "not judged")
    for scale, expected in (("paper", True), ("small", True), ("smoke", None)):
        unsaid = result(scale, scales={})  # small compares: it has the paper's setting
        assert unsaid["holds"] is expected and "judged here" not in claim_words(unsaid)
    cells.pop()
    assert state(result("paper", scales=only)) == "open"


def test_a_reason_that_is_newer_than_a_record_needs_the_runs_of_today(project):
    """Else a scale could be changed, given a reason, and decide by numbers of what it was."""
    file = project / "reproduce/toy/coins.yaml"
    text = file.read_text()
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    record = project / "reproduce/toy/results/coins.smoke.json"
    content = json.loads(record.read_text().replace('"smoke"', '"small"'))
    values = [value for cell in content["cells"] for value in cell["values"]]
    today = [value["run"] for value in values]  # toys are the same runs at both scales
    for value in values:
        value["run"] = "toy/coin-0123456789"
    file.write_text(text.replace("{id: lowest,", "{id: lowest, scales: {small: it was changed},"))

    def lowest():
        return next(
            c for c in recorded_view(load("toy/coins"), content).claims if c["id"] == "lowest"
        )

    assert (lowest()["holds"], lowest()["detail"]) == (None, OTHER_SETTINGS)
    shown = made_by(recorded_view(load("toy/coins"), content))
    assert "1 of 5 runs have other settings than the scale has by now (toy/coin-012345" in shown
    assert lowest()["because"] is None
    for claim in content["claims"]:
        claim["because"] = "it was changed"
    assert lowest()["because"] == "it was changed" and lowest()["detail"] != OTHER_SETTINGS
    for claim in content["claims"]:
        claim["because"] = None
    values[0]["run"] = today[0]
    assert lowest()["detail"] == OTHER_SETTINGS  # others are still of another setting
    for value, run in zip(values, today, strict=True):
        value["run"] = run
    assert lowest()["because"] == "it was changed"
    assert "other settings" not in made_by(recorded_view(load("toy/coins"), content))
    content["overrides"] = ["data.flips_of_then=7"]  # no run has it any more
    shown = made_by(recorded_view(load("toy/coins"), content))
    assert "5 of 5 runs have other settings" in shown
