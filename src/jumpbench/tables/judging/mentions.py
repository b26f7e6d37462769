"""Numbers of the runs in the words around a table: ``${method.steps}``, ``${LEAPS: target.beta}``.

A note that says how a row was made takes the number from the configuration of that row's runs at
the scale that is shown, so that it cannot speak of another scale. A key alone in the note of a row
is that row's; elsewhere it is that of all rows, and ``${ROW: key}`` that of one. Keys reach into
runs that are needed: ``${needs.prior.trainer.max_steps}``. Columns or rows that differ are all
named: ``500 / 4,000``. A row that the scale leaves out has no number: ``–``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.language.scale import Heads, Scale
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell, build
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection

_MENTION = re.compile(r"\$\{\s*(?:([^{}]+?)\s*:\s+)?([A-Za-z_][\w.]*)\s*\}")
Numbers = Mapping[str, str]
"""What stands for each mention: ``LEAPS: method.n_steps`` -> ``64``."""


def numbers(table: Table, scale: str, grid: Sequence[GridCell]) -> Numbers:
    """Every mention of a table at one scale, with the value in the runs of the grid.

    Raises:
        UserError: a row that does not exist, or a key that its runs do not have.
    """
    runs: dict[str, list[Run]] = {row.name: [] for row in table.rows}
    for cell in grid:
        runs[cell.row.name] += [run for run in cell.runs[:1] if run not in runs[cell.row.name]]
    return {
        mention: _value(table, runs, mention)
        for text in _texts(table, scale)
        for mention in _mentions(*text)
    }


def composed_numbers(table: Table, scale: str, recorded: Any) -> Numbers:
    """Those of a record's runs, with what else the table mentions as it is composed today.

    Raises:
        UserError: as :func:`numbers`.
    """
    pairs = recorded.items() if isinstance(recorded, dict) else ()
    known = {str(name): str(value) for name, value in pairs}
    mentions = [m for text in _texts(table, scale) for m in _mentions(*text)]
    if set(mentions) <= set(known) or scale not in table.scales:
        return known
    return {**numbers(table, scale, build(table, Selection(scale, "[0]"))), **known}


def filled(table: Table, scale: str, known: Numbers) -> Table:
    """The table with numbers in the place of mentions, in all that is said at this scale."""

    def said(text: Any, row: str = "") -> Any:
        if not isinstance(text, str):
            return text
        return _MENTION.sub(lambda mention: known.get(_name(mention, row), "–"), text)

    rows = tuple(
        replace(row, note=said(row.note, row.name), not_target=said(row.not_target, row.name))
        for row in table.rows
    )
    claims = tuple(replace(claim, text=said(claim.text)) for claim in table.claims)
    scales = dict(table.scales)
    if scale in scales:
        scales[scale] = _scale(scales[scale], said)
    reading = tuple(map(said, table.reading))
    return replace(table, rows=rows, claims=claims, scales=scales, reading=reading)


def _scale(scale: Scale, said: Callable[[str], str]) -> Scale:
    heads = Heads(*({k: said(v) for k, v in part.items()} for part in _heads(scale)))
    return replace(
        scale, note=said(scale.note), title=said(scale.title), about=said(scale.about), heads=heads
    )


def _heads(scale: Scale) -> tuple[Mapping[str, str], Mapping[str, str]]:
    assert [f.name for f in fields(Heads)] == ["rows", "columns"]
    return scale.heads.rows, scale.heads.columns


def _texts(table: Table, scale: str) -> Iterator[tuple[str, str]]:
    """(text, the row whose note it is) of all that is said at this scale."""
    yield from ((text, "") for text in (*table.reading, *(c.text for c in table.claims)))
    for row in filter(lambda row: not row.cited, table.rows):
        yield from ((text, row.name) for text in (row.note, row.not_target) if text)
    if (at := table.scales.get(scale)) is not None:
        for text in (at.note, at.title, at.about, *(v for h in _heads(at) for v in h.values())):
            yield text, ""


def _mentions(text: str, row: str) -> Iterator[str]:
    return (_name(mention, row) for mention in _MENTION.finditer(text))


def _name(mention: re.Match[str], row: str) -> str:
    of, key = mention[1] or row, mention[2]
    return f"{of}: {key}" if of else key


def _value(table: Table, runs: Mapping[str, Sequence[Run]], mention: str) -> str:
    of, _, key = mention.rpartition(": ")
    if of and of not in runs:
        raise UserError(f"{table.file}: ${{{mention}}}: there is no row '{of}'")
    chosen = runs[of] if of else [run for each in runs.values() for run in each]
    values = [value for run in chosen if (value := _looked_up(run, key)) is not None]
    if chosen and not values:
        raise UserError(f"{table.file}: ${{{mention}}}: its runs have no number or word '{key}'")
    return " / ".join(dict.fromkeys(values)) or "–"


def _looked_up(run: Run, key: str) -> str | None:
    """The value of a dotted key in the configuration of a run, or of one that it needs."""
    first, *rest = key.split(".")
    if first == "needs" and len(rest) > 1 and rest[0] in run.needs:
        return _looked_up(run.needs[rest[0]], ".".join(rest[1:]))
    node: Any = run.config
    for name in (first, *rest):
        node = node.get(name) if isinstance(node, dict) else None
    return spelled(node)


def spelled(value: Any) -> str | None:
    """A value as a note says it: ``1,500``, ``0.4407``, ``[0,5,7]``; None if it is no number."""
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return None
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
