"""What a press on a number of the page shows: its cell, its runs and how to make them."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.runs import PROVENANCE
from jumpbench.tables.runs.attempts import attempts_of
from jumpbench.tables.runs.store import read_json, run_folder
from jumpbench.tables.views import wording
from jumpbench.tables.views.layout import inside
from jumpbench.tables.views.races import for_the_page
from jumpbench.tables.views.view import View


def content(view: View, command: str) -> Any:
    """What a press on a number shows, as json that no name in it can end. The names of what is
    said of a cell stand once, in ``kinds``: a cell is its kind and its values."""
    from markupsafe import Markup

    names = dict.fromkeys(value.run for cell in view.cells for value in cell.values)
    number = {run: i for i, run in enumerate(names)}  # a run fills many cells: named once
    places = dict.fromkeys((cell.row, cell.column) for cell in inside(view) if cell.asked)
    place = {pair: i for i, pair in enumerate(places)}
    cells = [_cell(view, cell, number, place) for cell in inside(view)]
    kind = {names: i for i, names in enumerate(dict.fromkeys(map(tuple, cells)))}
    found = {
        "kinds": list(kind),
        "cells": [[kind[tuple(cell)], *cell.values()] for cell in cells],
        "runs": [{"run": run, **_run(run)} for run in number],
        "places": [shlex.join([f"rows={row}", f"columns={column}"]) for row, column in place],
        "made_by": wording.made_by(view), "command": command,
        "races": for_the_page(view.table, view.cells, view.scale.heads),
    }  # fmt: skip
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _cell(
    view: View, cell: Cell, number: Mapping[str, int], place: Mapping[tuple[str, str], int]
) -> dict[str, Any]:
    """What is said of a cell; what has no value is left out, and so is what goes without saying:
    that it is measured, a number of seeds that is the number of values, and a mean that is the
    only value. Its row, column and metric stand around it on the page. Runs and places are numbers
    in the lists of :func:`content`; a value is its seed, the number and its run."""
    names = ("measured", "std", "uncertainty", "perfect", "n_seeds", "n_samples", "status",
            "verdict", "note")  # fmt: skip
    metric = view.table.metrics.get(cell.metric)
    said: dict[str, Any] = {name: short(getattr(cell, name)) for name in names}
    said |= {name: short(said[name], 4) for name in ("std", "uncertainty")}
    if view.beside and metric and metric.printed:
        said |= {"paper": cell.paper, "paper_std": cell.paper_std}
    said["values"] = [(v.seed, short(v.value, 6), number[v.run]) for v in cell.values]
    if cell.asked:
        said["place"] = place[cell.row, cell.column]
    usual = {"status": "measured", "n_seeds": len(cell.values)}
    if len(cell.values) == 1 and short(cell.measured, 6) == said["values"][0][1]:
        usual["measured"] = said["measured"]
    return {
        name: value for name, value in said.items()
        if value not in (None, "") and value != usual.get(name, "")
    }  # fmt: skip


def short(value: Any, digits: int = 7) -> Any:
    """A number in a few digits; ``table.json`` has them all."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _run(run: str) -> dict[str, str]:
    """Where a run comes from, if its folder is here."""
    try:
        origin = read_json(run_folder(run) / PROVENANCE, "")
        machine = origin["hardware"]
        code = dict.fromkeys(map(_code, attempts_of(origin)))
        versions = (f"{name} {version}" for name, version in origin["versions"].items())
        return {
            "commit": ", before a stop ".join(code),
            "hardware": f"{machine.get('gpu') or machine['cpu']}, {origin['threads']} threads",
            "took": f"{origin['wall_seconds']} s, {origin['peak_memory_gb']} GB",
            "finished": str(origin["finished"]),
            "versions": ", ".join(versions),
        }
    except (UserError, KeyError, TypeError, AttributeError):
        return {}


def _code(origin: Mapping[str, Any]) -> str:
    changes = " with local changes" if origin["dirty"] else ""
    return f"{str(origin['commit'])[:10]}{changes}" if origin["commit"] else "none"
