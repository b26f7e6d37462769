"""What is shown of a record: its numbers, judged as the table file and the rules say today."""

import shlex
from dataclasses import replace
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.recorded import read_record, recorded_file, recorded_scales
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.judging.mentions import composed_numbers, filled
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import OWN, PAPERS, Table
from jumpbench.tables.views.claimwords import claim_counts, state
from jumpbench.tables.views.view import View

OTHER_SETTINGS = "its record has other settings than the scale has by now: make it again"


def recorded_view(table: Table, content: dict[str, Any]) -> View:
    """A record as it is shown: its numbers, judged as the table file and the rules say today.

    Its provenance names the runs whose settings are no longer those of the scale
    (``other_settings``). A reason why the scale can decide a claim may be newer than the record:
    then it counts only if there are none.
    """
    file = str(recorded_file(table.id, content["scale"]))
    known = composed_numbers(table, content["scale"], content.get("mentions"))
    table = filled(table, content["scale"], known)
    cells = [_as_compared(table, content, Cell.from_json(c, file)) for c in content["cells"]]
    changes = content.get("changes", ())
    others = _of_other_settings(table, content)
    provenance = {**content["provenance"], "other_settings": others}
    # What was recorded elsewhere is not made again for the rest.
    said = [f"scale={content['scale']}", *(content.get("overrides") or ()), "recorded=true"]
    view = View(table, content["scale"], cells, (), provenance, changes, said=said)
    not_judged = content.get("not_judged") or view.not_judged
    claims = evaluate(table, cells, content["scale"], not_judged)
    known_reasons = {claim["id"]: claim.get("because") for claim in content["claims"]}
    anew = {
        claim["id"] for claim in claims
        if claim["because"] not in (None, PAPERS, OWN, known_reasons.get(claim["id"]))
    }  # fmt: skip
    if anew and others:
        affected = replace(table, claims=tuple(c for c in table.claims if c.id in anew))
        instead = evaluate(affected, cells, content["scale"], OTHER_SETTINGS)
        named = {claim["id"]: claim for claim in instead}
        claims = [named.get(claim["id"], claim) for claim in claims]
    return replace(view, claims=claims)


def recorded_views(table_id: str) -> list[View]:
    """The records of a table, the smallest scale first."""
    table = load(table_id)
    return [recorded_view(table, read_record(table_id, s)) for s in recorded_scales(table_id)]


def decided_claims(table_id: str) -> set[str]:
    """Claims of a table that hold or fail, by the numbers of a record at whatever scale and by the
    rules of today: what its file says of claims may be older than they are."""
    claims = [claim for view in recorded_views(table_id) for claim in view.claims]
    return {str(claim["id"]) for claim in claims if claim["holds"] is not None}


def _of_other_settings(table: Table, content: dict[str, Any]) -> list[str]:
    """The runs of a record that its scale would no longer make."""
    from jumpbench.tables.planning.grid import build
    from jumpbench.tables.planning.selection import Selection

    made = sorted({str(value["run"]) for cell in content["cells"] for value in cell["values"]})
    scale, overrides = content["scale"], tuple(content.get("overrides") or ())
    seeds = str(sorted(content.get("seeds") or [0])).replace(" ", "")
    try:
        grid = build(table, Selection(scale, seeds, overrides=overrides))
    except UserError:  # what was asked for then is unknown by now
        return made
    planned = {run.id for cell in grid for run in cell.runs}
    return [run for run in made if run not in planned]


def _as_compared(table: Table, content: dict[str, Any], cell: Cell) -> Cell:
    """A recorded cell; one that the table file says cannot be compared has no verdict.

    What the file calls a fact today is one, whatever it was called when it was recorded.
    """
    scale, metric = table.scales.get(content["scale"]), table.metrics.get(cell.metric)
    if metric and metric.fact:
        status = "fact" if cell.status == "measured" else cell.status
        return replace(cell, fact=True, status=status, verdict=None)
    if scale and metric and scale.compared and metric.printed:
        return cell
    return replace(cell, verdict=None)


def command_of(table: Table, content: dict[str, Any]) -> str:
    """What makes a recorded table again, from its record."""
    words = ["reproduce/run_table.sh", table.id, f"scale={content['scale']}"]
    default = table.scales[content["scale"]].seeds if content["scale"] in table.scales else 1
    seeds = content.get("seeds", [])
    if seeds and seeds != list(range(default)):
        counted = seeds == list(range(len(seeds)))
        words.append(f"seeds={len(seeds)}" if counted else f"seeds={seeds}".replace(" ", ""))
    return shlex.join([*words, *content.get("overrides", ())])


def how_to_draw(table: Table, content: dict[str, Any], mark: str = "`") -> str:
    """What a record without pictures says; ``mark`` stands around commands and files."""
    folder = f"{mark}outputs/tables/{table.id}/{content['scale']}/figures{mark}"
    command = f"{mark}{command_of(table, content)}{mark}"
    return f"No picture is recorded; {command} draws them into {folder}."


def summary(view: View) -> str:
    """``98/98 cells; claims: 1 holds, 2 fail``: a table in a few words."""
    cells = [cell for cell in view.cells if cell.asked and not cell.fact]
    measured = sum(cell.status == "measured" for cell in cells)
    facts = sum(cell.status == "fact" for cell in view.cells)
    text = f"{measured}/{len(cells)} cells" if cells else "facts of the configuration alone"
    text += f", {facts} facts" if facts and cells else ""
    verdicts = [cell.verdict for cell in cells if cell.verdict]
    if verdicts:
        text += f"; {verdicts.count('match')} ≈, {verdicts.count('better')} ▲, "
        text += f"{verdicts.count('worse')} ▼"
    if all(state(claim) == "not judged" for claim in view.claims):
        return text
    return f"{text}; {claim_counts(view)}"
