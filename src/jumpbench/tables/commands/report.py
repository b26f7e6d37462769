"""``jumpbench report --record`` and ``--readme``: records, and the generated parts of the pages."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.names import one_line
from jumpbench.paths import reproduce_dir, suite_root
from jumpbench.tables.commands import pages
from jumpbench.tables.commands.errata import PAGE, errata_page
from jumpbench.tables.commands.rankpages import keep_ranks, ranks_section
from jumpbench.tables.commands.recorded import (
    command_of,
    how_to_draw,
    place_for_record,
    read_record,
    recorded_file,
    recorded_runs,
    recorded_view,
    write_record,
)
from jumpbench.tables.commands.recordpictures import (
    drop_others,
    earlier_pictures,
    keep_pictures,
    pictures_for,
    pictures_of,
)
from jumpbench.tables.language.schema import FILE as SCHEMA
from jumpbench.tables.language.schema import schema_text
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.views.captions import caption
from jumpbench.tables.views.races import race_entries
from jumpbench.tables.views.render import as_markdown, to_markdown
from jumpbench.tables.views.tablefiles import TableFiles
from jumpbench.tables.views.wording import made_by, older_runs

_MARKED = re.compile(r"(<!-- (\S+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


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
    if selection.rows or selection.columns:
        raise UserError("a table is recorded whole; leave out rows= and columns=")
    if selection.changes:
        raise UserError(
            f"a table changed by overrides is not recorded ({selection.changes[0]}); "
            "write them into the table file, as a scale or a row"
        )
    recorded = recorded_runs(table_id, selection.scale)
    seeds = recorded.seeds if recorded else ()
    files = TableFiles(TablePlan(load(table_id), selection, seeds), recorded)
    cells = files.cells()
    if not any(cell.has_number for cell in cells):
        raise UserError(
            f"{table_id} has no finished run at scale {selection.scale}; make it first (with the "
            "same seeds=)"
        )
    if recorded and (lost := recorded.lost(cells)):
        shown = "; ".join(f"{row}, {column}" for row, column in lost[:3])
        raise UserError(
            f"the record of {table_id} at scale {selection.scale} has numbers that would be lost, "
            f"as their settings have changed since: {shown}{' ...' if lost[3:] else ''} "
            f"({len(lost)} in all); make them again first, or delete "
            f"{place_for_record(table_id, selection.scale)}"
        )
    view = files.write(final=True, anew=True)
    content = files.content(view.cells)
    content["cells"] = _of_the_scale(content["cells"])
    content["provenance"] = dict(view.provenance)
    if older := older_runs(view.provenance):
        print(f"warning: {older}; fresh=true makes them again", file=sys.stderr)
    place = place_for_record(table_id, selection.scale)
    kept = earlier_pictures(place, files.incomplete) if recorded else []
    if recorded and not recorded.runs <= {value.run for cell in cells for value in cell.values}:
        for entry in kept:
            print(
                f"warning: picture '{entry['name']}' may show runs that are no longer recorded; "
                "what the runs here show takes its place",
                file=sys.stderr,
            )
        kept = []
    stay = {entry["name"] for entry in kept}
    pictures = {n: p for n, p in pictures_for(view, files.figures).items() if n not in stay}
    entries = [*kept, *keep_pictures(place, pictures)]
    content |= {"pictures": entries} if entries else {}
    path = write_record(table_id, selection.scale, content)
    drop_others(path, entries)
    if race_entries(view.table) and path == recorded_file(table_id, selection.scale):
        keep_ranks(path, view.table.slug)
    if path != recorded_file(table_id, selection.scale):
        print(f"note: the installed package is left alone; the record is {path}", file=sys.stderr)
    return path


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


def readmes() -> list[Path]:
    """Renew the generated parts of the pages in ``reproduce/``, and of README and docs beside it.

    ``RESULTS.md`` of each paper holds its recorded tables, whole. Between markers stand
    ``<!-- papers -->`` (one line a paper), ``<!-- tables -->`` (all tables with what is recorded),
    ``<!-- errata -->`` (errors of all papers), ``<!-- results -->`` (a summary of the folder's
    paper with links), and
    ``<!-- result:SLUG/TABLE.SCALE -->`` (one recorded table). With ``JUMPBENCH_REPRODUCE`` these
    are the files in and beside that folder.
    """
    changed = []
    folder = reproduce_dir()
    if place_for_record("x/y", "small").parents[2] != folder:
        raise UserError("pages are renewed in a checkout, or with JUMPBENCH_REPRODUCE")
    if folder == suite_root() / "reproduce" and _renewed(folder / SCHEMA, schema_text()):
        changed.append(folder / SCHEMA)
    for slug in pages.papers():
        if (text := _results(slug)) and _renewed(folder / slug / pages.RESULTS, text):
            changed.append(folder / slug / pages.RESULTS)
    above = [folder.parent / page for page in ("README.md", pages.LIST, PAGE)]
    for path in (*above, *sorted(folder.glob("*/README.md"))):
        if not path.is_file():
            continue
        old = path.read_text(encoding="utf-8")

        def renew(marker: re.Match[str], page: Path = path) -> str:
            return f"{marker[1]}{_content(marker[2], page.parent)}{marker[3]}"

        if _renewed(path, _MARKED.sub(renew, old)):
            changed.append(path)
    return changed


def _renewed(path: Path, text: str) -> bool:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_atomic(path, text)
    return True


def _content(marker: str, folder: Path) -> str:
    """What stands behind a marker of the page in a folder."""
    if marker == "tables":
        return pages.table_list(folder)
    if marker == "papers":
        return pages.paper_list(folder)
    if marker == "errata":
        return errata_page(pages.names_of_papers())
    if marker == "results":
        return pages.summaries(folder.name) or "Nothing is recorded yet.\n"
    if marker.startswith("result:"):
        table_id, scale = marker.removeprefix("result:").rsplit(".", 1)
        if not recorded_file(table_id, scale).is_file():
            return "Not recorded yet.\n"
        return _recorded(load(table_id), scale, folder)
    raise UserError(f"unknown marker '<!-- {marker} -->' in a README")


def _results(slug: str) -> str:
    """The page of all recorded tables of a paper, empty if there is none."""
    folder = reproduce_dir() / slug
    texts = pages.each_record(slug, lambda table, scale: _recorded(table, scale, folder))
    head = (
        f"# Recorded results: {slug}\n\nGenerated by `jumpbench report --readme` from "
        "`results/*.json`; how numbers are judged: docs/reading-a-cell.md.\n\n"
    )
    return head + ranks_section(slug) + "\n".join(texts) if texts else ""


def _recorded(table: Table, scale: str, folder: Path) -> str:
    """A recorded table with its pictures, on a page in a folder."""
    content = read_record(table.id, scale)
    pictures = ""
    for name, file in pictures_of(recorded_file(table.id, scale), content).items():
        words = as_markdown(caption(table, name)).replace("[", "\\[").replace("]", "\\]")
        place = Path(os.path.relpath(file, folder)).as_posix()
        pictures += f"![{words}]({place})\n\n{words}\n\n"
    if not pictures and table.figures:
        pictures = f"{as_markdown(how_to_draw(table, content))}\n\n"
    view = recorded_view(table, content)
    origin = as_markdown(made_by(view))
    tail = f"Regenerate with `{one_line(command_of(table, content))}`. {origin}.\n"
    anchor = pages.anchor(table.id, scale)
    return f'<a id="{anchor}"></a>\n\n{to_markdown(view, 2, pictures)}\n{tail}'
