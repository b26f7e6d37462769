"""``jumpbench report --record``: the record of a table, from the runs that are finished."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.rankpages import keep_ranks
from jumpbench.tables.commands.recorded import (
    place_for_record,
    recorded_file,
    recorded_runs,
    write_record,
)
from jumpbench.tables.commands.recordpictures import (
    drop_others,
    earlier_pictures,
    keep_pictures,
    pictures_for,
)
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.views.races import race_entries
from jumpbench.tables.views.tablefiles import TableFiles
from jumpbench.tables.views.view import View
from jumpbench.tables.views.wording import older_runs


def record(table_id: str, selection: Selection) -> Path:
    """Write ``reproduce/SLUG/results/TABLE.SCALE.json`` from the runs that are finished.

    The whole table is collected anew and no run is made: cells without one are recorded as not
    run. Runs of the earlier record, if there is one, that have no folder here stay recorded, and
    so do pictures that need their samples, unless some of its runs gave way to others. Its files
    are renewed too, and its pictures are kept beside the record, each at most 200 kB. A run that is
    older than the code of its method is told.

    Raises:
        UserError: a part of a table, one changed by overrides, no finished run of it, or seeds of
            the earlier record that would be lost.
    """
    _check_whole(selection)
    recorded = recorded_runs(table_id, selection.scale)
    seeds = recorded.seeds if recorded else ()
    files = TableFiles(TablePlan(load(table_id), selection, seeds), recorded)
    cells = files.cells()
    if not any(cell.has_number for cell in cells):
        raise UserError(
            f"{table_id} has no finished run at scale {selection.scale}; make it first (with the "
            "same seeds=)"
        )
    if recorded:
        _check_nothing_lost(table_id, selection.scale, recorded.lost(cells))
    view = files.write(final=True, anew=True)
    content = files.content(view.cells)
    content["cells"] = _of_the_scale(content["cells"])
    content["provenance"] = dict(view.provenance)
    if older := older_runs(view.provenance):
        print(f"warning: {older}; fresh=true makes them again", file=sys.stderr)
    place = place_for_record(table_id, selection.scale)
    entries = _pictures(view, files, place, recorded)
    content |= {"pictures": entries} if entries else {}
    path = write_record(table_id, selection.scale, content)
    drop_others(path, entries)
    if race_entries(view.table) and path == recorded_file(table_id, selection.scale):
        keep_ranks(path, view.table.slug)
    if path != recorded_file(table_id, selection.scale):
        print(f"note: the installed package is left alone; the record is {path}", file=sys.stderr)
    return path


def _check_whole(selection: Selection) -> None:
    if selection.rows or selection.columns:
        raise UserError("a table is recorded whole; leave out rows= and columns=")
    if selection.changes:
        raise UserError(
            f"a table changed by overrides is not recorded ({selection.changes[0]}); "
            "write them into the table file, as a scale or a row"
        )


def _check_nothing_lost(table_id: str, scale: str, lost: Sequence[tuple[str, str]]) -> None:
    """``lost`` are rows and columns whose recorded seeds are no longer those of the table."""
    if lost:
        shown = "; ".join(f"{row}, {column}" for row, column in lost[:3])
        raise UserError(
            f"the record of {table_id} at scale {scale} has numbers that would be lost, "
            f"as their settings have changed since: {shown}{' ...' if lost[3:] else ''} "
            f"({len(lost)} in all); make them again first, or delete "
            f"{place_for_record(table_id, scale)}"
        )


def _pictures(
    view: View, files: TableFiles, place: Path, recorded: RecordedRuns | None
) -> list[dict[str, str]]:
    """Entries of the pictures that are kept: what the runs here show, and earlier ones of runs
    whose samples are elsewhere."""
    kept = earlier_pictures(place, files.incomplete) if recorded else []
    now = {value.run for cell in view.cells for value in cell.values}
    if recorded and not recorded.runs <= now:
        for entry in kept:
            print(
                f"warning: picture '{entry['name']}' may show runs that are no longer recorded; "
                "what the runs here show takes its place",
                file=sys.stderr,
            )
        kept = []
    stay = {entry["name"] for entry in kept}
    pictures = {n: p for n, p in pictures_for(view, files.figures).items() if n not in stay}
    return [*kept, *keep_pictures(place, pictures)]


def _of_the_scale(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without cells of rows and columns that the scale leaves out, save one that names each.

    Those beside which the paper prints a number stay. A leaderboard has 48 columns, of which a
    scale has six.
    """

    def belongs(cell: dict[str, Any]) -> bool:
        return cell["asked"] or cell["status"] != "missing" or cell["paper"] is not None

    def names(cell: dict[str, Any]) -> set[tuple[str, str]]:
        return {(kind, cell[kind]) for kind in ("row", "column")}

    part = {name for cell in cells if belongs(cell) for name in names(cell)}
    kept, told = [], set(part)
    for cell in cells:
        if belongs(cell) or names(cell) <= part or not names(cell) <= told:
            kept.append(cell)
            told |= names(cell)
    return kept
