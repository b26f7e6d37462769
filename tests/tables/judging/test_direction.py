"""Where a claim points that nothing decides."""

import dataclasses
import json

import pytest
from pydantic import TypeAdapter

from jumpbench.tables.commands.agreement import stand
from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.judging.comparisons import Contrast, Estimate
from jumpbench.tables.judging.direction import LEVEL, MIXED, OTHER, SAME, direction
from jumpbench.tables.judging.tree import Tree
from jumpbench.tables.language.checks import Check
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Claim
from jumpbench.tables.views.claimwords import claim_head, claim_words, pointing


def above(value, other, seeds=1, spread=0.0):
    """``value`` is said to be above ``other``."""
    runs = {seed: value + spread * (-1) ** seed for seed in range(seeds)}
    one = Estimate(value, by_seed=runs)
    two = Estimate(other, by_seed=dict.fromkeys(range(seeds), other))
    return Contrast(((1.0, one), (-1.0, two)), 0.0, f"{value} > {other}")


MISSING = Contrast(((1.0, Estimate(None, lacking="no number for it")),), 0.0, "it > 0")


@pytest.mark.parametrize(
    ("joined", "parts", "way", "words"),
    [
        ("all", [above(2, 1)], SAME, "2 > 1, one seed"),
        ("all", [above(1, 2)], OTHER, "1 > 2, one seed"),
        ("all", [above(2, 1), above(1, 2)], MIXED, "1 of 2 comparisons do, 1 do not"),
        ("any", [above(2, 1), above(1, 2)], SAME, "1 of 2 comparisons do, 1 do not"),
        ("all", [above(2, 1), above(1, 1)], SAME, "1 of 2 comparisons do, 0 do not"),
        ("all", [above(2, 1), above(3, 1)], SAME, "all of 2 comparisons, one seed"),
        ("all", [above(1, 2), above(1, 3)], OTHER, "none of 2 comparisons, one seed"),
        ("all", [above(1, 1)], LEVEL, "1 > 1, one seed"),
        ("all", [above(2, 1, seeds=4, spread=0.1)], SAME, "4 seeds"),
        ("all", [above(2, 1, seeds=4, spread=9.0)], LEVEL, "4 seeds"),
        ("all", [Contrast(((1.0, Estimate(2.0, 0.0)),), -1.0, "2 > 1")], SAME, "exact"),
        ("all", [above(2, 1), MISSING], "", ""),
        ("any", [above(2, 1), MISSING], SAME, "1 of 2 comparisons do, 0 do not, one seed"),
        ("any", [above(1, 2), MISSING], "", ""),
    ],
)
def test_signs_of_contrasts(joined, parts, way, words):
    found = direction(Tree(joined, tuple(parts)))
    assert found.way == way and words in found.words


@pytest.mark.parametrize(("scale", "points"), [("smoke", False), ("small", True)])
def test_a_claim_that_its_scale_cannot_decide(project, scale, points):
    """It has a direction in place of "not judged", but not from a few steps of a smoke run."""
    table = load("toy/coins")
    metric = next(iter(table.metrics))
    fair = table.rows[0].name
    check = {"compare": {"left": {"row": fair, "column": table.columns[0].name, "metric": metric},
                         "op": ">", "right": -1.0}}  # fmt: skip
    read = TypeAdapter(Check).validate_json(json.dumps(check))
    claim = Claim("c", "text", read, scales={"paper": "a test"})
    cell = Cell(fair, table.columns[0].name, metric, measured=0.5, status="measured",
                values=[Value(0, 0.5, "run")])  # fmt: skip
    (result,) = evaluate(dataclasses.replace(table, claims=(claim,)), [cell], scale)
    assert result["holds"] is None and "can be decided at paper" in result["detail"]
    assert (result["way"] == SAME) is points
    assert claim_head(result) == ("points the same way" if points else "not judged")
    assert ("one seed" in claim_words(result)) is points
    (changed,) = evaluate(dataclasses.replace(table, claims=(claim,)), [cell], "small", "changed")
    assert changed["way"] == "" and claim_head(changed) == "not judged"


def test_in_a_few_words():
    assert pointing([SAME, SAME, OTHER, "", LEVEL]) == "2 point the same way, 1 the other way"
    assert pointing([MIXED, ""]) == "1 points both ways"
    assert pointing(["", LEVEL]) == ""
    standing = [("holds", ""), ("fails", ""), ("fails", ""), ("", SAME), ("", "")]
    assert stand(standing) == "of 5 claims 1 holds, 2 fail; undecided, 1 points the same way"
    assert stand([("", "")]) == "of 1 claims none is decided"
