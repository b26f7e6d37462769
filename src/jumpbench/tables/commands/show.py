"""``jumpbench show``: a composed configuration with the place of every value; what is behind a
cell of a table."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.names import no_such, one_line, select
from jumpbench.tables.commands.overview import state_of
from jumpbench.tables.judging.collect import Records, collect, source_name
from jumpbench.tables.judging.origins import origins
from jumpbench.tables.language.spec import Table, lines_of, load
from jumpbench.tables.planning import grid as grids
from jumpbench.tables.planning.composition import fitting
from jumpbench.tables.planning.grid import GridCell, Selection
from jumpbench.tables.planning.places import TYPED, Place, Places, places, short
from jumpbench.tables.planning.plan import Run, plan_run
from jumpbench.tables.planning.scalefiles import expanded, lines_of_scale
from jumpbench.tables.planning.unread import refuse_unread
from jumpbench.tables.views.annotated import annotated
from jumpbench.tables.views.console import console, print_json, words

Placed = list[tuple[str, Place]]
"""Overrides, each with the line that says it."""


def show_experiment(experiment: str, overrides: Sequence[str], as_json: bool = False) -> None:
    """Print the configuration of one run.

    Raises:
        UserError: as :func:`~jumpbench.tables.planning.plan.plan_run`.
    """

    def all_of(typed: Sequence[str]) -> Placed:
        scales = [text for text in typed if text.startswith("scale=")]
        return _fitting(
            experiment, [(text, TYPED) for text in scales],
            [text for text in typed if text not in scales],
        )  # fmt: skip

    placed = all_of(overrides)
    texts = [text for text, _ in placed]
    run = plan_run(experiment, texts)
    refuse_unread(overrides, [lambda typed: (experiment, [text for text, _ in all_of(typed)])])
    _print({"experiment": experiment, "runs": _runs([run])}, run, places(experiment, placed), as_json)


def show_cell(
    table_id: str, row: str | None, column: str | None, metric: str | None, selection: Selection,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Print what is behind a cell of a table at one scale: its metrics, what is published, the runs
    and the configuration of the first one.

    Raises:
        UserError: unknown table, scale, row, column or metric; or as
            :func:`~jumpbench.tables.planning.grid.build`.
    """
    table = load(table_id)
    grids.scale_of(table, selection.scale)
    where = lines_of(table.id, Path(table.file))
    row = _one("row", row, [r.name for r in table.rows])
    has = [c.name for r, c, _ in table.cells() if r.name == row]
    column = _one("column", column, [c.name for c in table.columns if c.name in has])
    at = Selection(selection.scale, selection.seeds, row, column, selection.overrides)
    cells = grids.build(table, at)
    known = [cell.metric.name for cell in cells]
    wanted = select("metric", metric, known) if metric else known
    cells = [cell for cell in cells if cell.metric.name in wanted]
    runs = next((cell.runs for cell in cells if cell.runs), ())
    numbers = collect(table, cells, Records(), selection.scale)
    content = {
        "table": table.id, "scale": selection.scale, "title": table.title,
        "row": {"name": row, **_at(where, "rows", table.rows.index(cells[0].row))},
        "column": {"name": column, **_at(where, "columns", table.columns.index(cells[0].column))},
        "metrics": [
            _metric(table, cell, number.measured, where)
            for cell, number in zip(cells, numbers, strict=True)
        ],
        "runs": _runs(runs),
    }  # fmt: skip
    if cells[0].row.cited:
        content["no_run"] = "the row is cited: never measured here"
    elif not runs:
        content["no_run"] = cells[0].missing_because
    if not runs:
        return _print(content, None, None, as_json)
    experiment = cells[0].row.experiment or table.experiment or ""
    stated = grids.stated(table, table.scales[selection.scale], cells[0].row, cells[0].column)
    placed = _fitting(
        experiment, [(text, Place(*where[place])) for place, text in stated], selection.overrides
    )
    return _print(content, runs[0], places(experiment, placed), as_json)


def _one(kind: str, wanted: str | None, known: Sequence[str]) -> str:
    """The one name that is meant; the only one there is, where none is given."""
    if wanted is None:
        if len(known) > 1:
            raise UserError(f"which {kind}? give {kind}=NAME; there are: {', '.join(known)}")
        return known[0]
    matching = select(kind, wanted, known)
    if len(matching) > 1:
        raise UserError(f"{kind}={wanted[:60]} fits {', '.join(matching)}; give one of them")
    return matching[0]


def _fitting(experiment: str, stated: Placed, typed: Sequence[str]) -> Placed:
    """All overrides in their order, scale files replaced by their lines."""
    whole: Placed = []
    for text, place in stated:
        lines = lines_of_scale(text)
        whole += [(one, Place(*lines[one]) if one in lines else place) for one in expanded([text])]
    last = expanded(typed)
    kept = set(fitting(experiment, [text for text, _ in whole], last)[0])
    return [(text, place) for text, place in whole if text in kept] + [(t, TYPED) for t in last]


def _at(where: Any, *keys: str | int) -> dict[str, Any]:
    file, line = where[keys]
    return {"file": short(file), "line": line}


def _metric(table: Table, cell: GridCell, measured: float | None, where: Any) -> dict[str, Any]:
    """One metric of a cell: what a run calls it, what computes that, what the paper prints."""
    metric, row, column = cell.metric, cell.row.name, cell.column.name
    source = source_name(metric, cell.row, cell.column)
    number = table.published_number(row, column, metric.name)
    published = None
    if number is not None:
        published = {
            "value": number.value, "std": number.std, "in": table.title,
            "printed": metric.printed, **_at(where, "published", metric.name, row, column),
        }  # fmt: skip
    return {
        "metric": metric.name, "label": metric.label or metric.name, "better": metric.better,
        "source": source, **_at(where, "metrics", metric.name),
        "computed": [
            {
                "function": one.function, "file": short(one.file), "line": one.line,
                "calls": [f"{d.path} ({short(d.file)}:{d.line})" for d in one.uses],
            }
            for one in (origins(cell.runs[0].config, source) if cell.runs else ())
        ],
        "published": published, "measured": measured,
    }  # fmt: skip


def _runs(runs: Iterable[Run]) -> list[dict[str, Any]]:
    listed: dict[str, dict[str, Any]] = {}
    for run in runs:
        for step in run.with_needs():
            state, why = state_of(step)
            listed[step.hash] = {
                "run": step.id, "seed": step.seed, "needed": step is not run,
                "state": state, "why": why, "folder": str(step.folder),
            }  # fmt: skip
    return list(listed.values())


def _print(content: dict[str, Any], run: Run | None, at: Places | None, as_json: bool) -> None:
    if as_json:
        content |= {"config": run.config, "places": _places(run.config, at)} if run and at else {}
        print_json(content)
        return
    out = console()
    for line in _heading(content):
        out.print(words(out, f"# {line}", "dim"), soft_wrap=True)
    if run is not None and at is not None:
        for line in annotated(run.config, functools.partial(_comment, at)).splitlines():
            out.print(words(out, line), soft_wrap=True)


def _comment(at: Places, keys: Any) -> str:
    place, formula = at.of(keys)
    return f"{place} {formula}" if formula else str(place)


def _places(node: Any, at: Places, keys: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """{dotted key: its place}, of every value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = {k: v for key, value in inner for k, v in _places(value, at, (*keys, key)).items()}
    if found or not keys:
        return found
    place, formula = at.of(keys)
    file = None if place.file is None else short(place.file)
    return {".".join(map(str, keys)): {"file": file, "line": place.line, "formula": formula}}


def _heading(content: dict[str, Any]) -> Iterable[str]:
    """What stands above a configuration, line by line."""

    def line(one: dict[str, Any]) -> str:
        return f"{one['file']}:{one['line']}"

    if "table" in content:
        row, column = content["row"], content["column"]
        yield f"{content['table']}, {content['scale']}: {row['name']} / {column['name']}"
        yield f"row: {line(row)}; column: {line(column)}"
    for metric in content.get("metrics", ()):
        yield f"{metric['metric']} ({metric['label']}): {line(metric)}"
        places = [
            f"{one['function']} ({line(one)})"
            + (f" with {', '.join(one['calls'])}" if one["calls"] else "")
            for one in metric["computed"]
        ]
        yield f"  {metric['source']} of a run" + (f": {' or '.join(places)}" if places else "")
        if (paper := metric["published"]) is None:
            yield "  published: nothing"
        else:
            std = "" if paper["std"] is None else f" ± {paper['std']:g}"
            value = paper["value"] if isinstance(paper["value"], str) else f"{paper['value']:g}"
            drawn = "" if paper["printed"] else ", read off a plot"
            yield f"  published: {value}{std} ({line(paper)}), {one_line(paper['in'])}{drawn}"
        if metric["measured"] is not None:
            yield f"  measured here: {metric['measured']:g}"
    if "no_run" in content:
        yield f"no run: {content['no_run']}"
    for run in content["runs"]:
        kind = "needed run" if run["needed"] else "run"
        why = f" ({run['why']})" if run["why"] else ""
        yield f"{kind}, seed {run['seed']}, {run['state']}{why}: {run['folder']}"
