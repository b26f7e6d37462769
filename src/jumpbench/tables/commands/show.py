"""``jumpbench show``: a composed configuration with the place of every value, and what is behind a
cell of a table: its metrics, what computes them, what is published, the runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.names import one_line, select
from jumpbench.tables.commands.status import state_of
from jumpbench.tables.judging.collect import collect
from jumpbench.tables.judging.number_sources import NumberSources
from jumpbench.tables.judging.readings import Records, source_name
from jumpbench.tables.language.spec import lines_of, load
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning import grid as grids
from jumpbench.tables.planning.composition import fitting
from jumpbench.tables.planning.defaults import line_of
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.nodes import TYPED, Place
from jumpbench.tables.planning.places import Keys, Places, of_scale, places
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection, scale_of
from jumpbench.tables.planning.unread import refuse_unread
from jumpbench.tables.views.annotated import annotated, by_key
from jumpbench.tables.views.console import console, print_json, words

Placed = list[tuple[str, Place]]
"""Overrides, each with the line that says it."""


@dataclass(frozen=True)
class CellNames:
    """What names a cell: names or patterns; None where there is only one."""

    row: str | None = None
    column: str | None = None
    metric: str | None = None


def show_experiment(experiment: str, overrides: Sequence[str], as_json: bool = False) -> None:
    """Print the configuration of one run.

    Raises:
        UserError: as :func:`~jumpbench.tables.planning.plan.plan_run`.
    """

    def placed(typed: Sequence[str]) -> Placed:
        scales = [(text, TYPED) for text in typed if text.startswith("scale=")]
        return _fitting(experiment, scales, [t for t in typed if (t, TYPED) not in scales])

    run = plan_run(experiment, _texts(placed(overrides)))
    refuse_unread(overrides, [lambda typed: (experiment, _texts(placed(typed)))])
    content = {"experiment": experiment, "runs": _runs([run])}
    _print(content, run, places(experiment, placed(overrides)), as_json)


def show_cell(table_id: str, names: CellNames, selection: Selection, as_json: bool = False) -> None:
    """Print what is behind a cell at one scale, and the configuration of its first run.

    Raises:
        UserError: unknown table, scale, row, column or metric; or as
            :func:`~jumpbench.tables.planning.grid.build`.
    """
    table = load(table_id)
    scale = scale_of(table, selection.scale)
    row = _one("row", names.row, [r.name for r in table.rows])
    columns = dict.fromkeys(c.name for r, c, _ in table.cells() if r.name == row)
    column = _one(f"column of {row}", names.column, list(columns))
    cells = grids.build(table, Selection(scale.name, selection.seeds, row, column,
                                         selection.overrides))  # fmt: skip
    metrics = [cell.metric.name for cell in cells]
    chosen = select("metric", names.metric, metrics) if names.metric else metrics
    cells = [cell for cell in cells if cell.metric.name in chosen]
    first = next((cell for cell in cells if cell.runs), cells[0])
    where = lines_of(table.id, Path(table.file))
    r, c = table.rows.index(first.row), table.columns.index(first.column)
    numbers = collect(table, cells, Records(), scale.name)
    content: dict[str, Any] = {
        "table": table.id, "scale": scale.name,
        "row": {"name": row, "at": str(Place(*where["rows", r]))},
        "column": {"name": column, "at": str(Place(*where["columns", c]))},
        "metrics": [
            _metric(table, cell, where) | {"measured": number.measured}
            for cell, number in zip(cells, numbers, strict=True)
        ],
        "runs": _runs(first.runs),
    }  # fmt: skip
    if not first.runs:
        why = "the row is cited, and never measured" if first.row.cited else first.missing_because
        return _print(content | {"no_run": why}, None, None, as_json)
    experiment = first.row.experiment or table.experiment or ""
    stated = grids.stated(table, scale, first.row, first.column)
    overrides = _fitting(
        experiment, [(text, Place(*where[key])) for key, text in stated], selection.overrides
    )
    return _print(content, first.runs[0], places(experiment, overrides), as_json)


def _one(kind: str, wanted: str | None, known: Sequence[str]) -> str:
    """The one name that is meant; the only one that there is, where none is given."""
    key = kind.split()[0]
    if wanted is None and len(known) > 1:
        raise UserError(f"which {kind}? give {key}=NAME; there are: {', '.join(known)}")
    names = list(known) if wanted is None else select(kind, wanted, known)
    if len(names) > 1:
        raise UserError(f"{key}={str(wanted)[:60]} fits {', '.join(names)}; give one of them")
    return names[0]


def _fitting(experiment: str, stated: Placed, typed: Sequence[str]) -> Placed:
    """All overrides in their order, scale files replaced by their lines."""
    whole = [one for text, place in stated for one in of_scale(text, place)]
    last = [one for text in typed for one in of_scale(text, TYPED)]
    applied = set(fitting(experiment, _texts(whole), _texts(last))[0])
    return [one for one in whole if one[0] in applied] + last


def _texts(placed: Placed) -> list[str]:
    return [text for text, _ in placed]


def _metric(table: Table, cell: GridCell, where: Mapping[Any, tuple[Path, int]]) -> dict[str, Any]:
    """One metric of a cell: what a run calls it, what computes that, what the paper prints."""
    metric, key = cell.metric, (cell.metric.name, cell.row.name, cell.column.name)
    source = source_name(metric, cell.row, cell.column)
    sources = NumberSources(cell.runs[0].config).of(source) if cell.runs else []
    number = table.published_number(key[1], key[2], key[0])
    return {
        "metric": metric.name, "label": metric.label or metric.name,
        "at": str(Place(*where["metrics", metric.name])), "source": source,
        "computed": [
            {
                "function": one.function, "at": str(Place(one.file, one.line)),
                "calls": {d.path: str(Place(d.module.file, d.line)) for d in one.uses},
            }
            for one in sources
        ],
        "published": None if number is None else {
            "value": number.value, "std": number.std, "in": one_line(table.title),
            "printed": metric.printed, "at": str(Place(*where["published", *key])),
        },
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
    config = run.whole if run else {}
    comments = by_key(config, partial(_said, run, at)) if run and at else {}
    if as_json:
        named = {".".join(map(str, keys)): said for keys, said in comments.items()}
        print_json(content | {"config": config, "places": named})
        return
    out = console()
    for line in _heading(content):
        out.print(words(out, f"# {line}", "dim"), soft_wrap=True)
    for line in annotated(config, comments) if config else ():
        out.print(words(out, line), soft_wrap=True)


def _said(run: Run, at: Places, keys: Keys) -> str:
    """Where a value was written; of one that is a constructor's default, its line there."""
    node: Any = run.config
    for key in keys:
        if isinstance(node, Mapping) and key not in node:
            return f"default {Place(*line_of(str(node['_target_']), str(key)))}"
        node = node[key]
    return at.said(keys)


def _heading(content: dict[str, Any]) -> Iterator[str]:
    """What stands above a configuration, line by line."""
    if "table" in content:
        row, column = content["row"], content["column"]
        yield f"{content['table']}, {content['scale']}: {row['name']} / {column['name']}"
        yield f"row: {row['at']}; column: {column['at']}"
    for metric in content.get("metrics", ()):
        yield f"{metric['metric']} ({metric['label']}): {metric['at']}"
        for i, one in enumerate(metric["computed"]):
            does = f"{metric['source']} is computed by" if i == 0 else "or, of another problem, by"
            yield f"  {does} {one['function']} ({one['at']})"
            yield from (f"    which calls {name} ({at})" for name, at in one["calls"].items())
        if (paper := metric["published"]) is None:
            yield "  published: nothing"
        else:
            std = "" if paper["std"] is None else f" ± {paper['std']:g}"
            value = paper["value"] if isinstance(paper["value"], str) else f"{paper['value']:g}"
            plot = "" if paper["printed"] else ", read off a plot"
            yield f"  published: {value}{std} in {paper['in']!r}{plot} ({paper['at']})"
        if metric["measured"] is not None:
            yield f"  measured here: {metric['measured']:g}"
    if "no_run" in content:
        yield f"no run: {content['no_run']}"
    for run in content["runs"]:
        why = f" ({run['why']})" if run["why"] else ""
        kind = "needed run" if run["needed"] else "run"
        yield f"{kind}, seed {run['seed']}, {run['state']}{why}: {run['folder']}"
