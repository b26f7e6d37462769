"""``jumpbench report --record`` and ``--readme``: records, and the generated parts of the pages."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.names import one_line
from jumpbench.paths import reproduce_dir, suite_root
from jumpbench.tables.commands.overview import COSTS, cost_of
from jumpbench.tables.commands.recorded import (
    command_of,
    how_to_draw,
    place_for_record,
    read_record,
    recorded_file,
    recorded_scales,
    recorded_view,
    summary,
    write_record,
)
from jumpbench.tables.commands.recordpictures import (
    drop_others,
    keep_pictures,
    pictures_for,
    pictures_of,
)
from jumpbench.tables.commands.reproduction import Reproduction
from jumpbench.tables.language.schema import FILE as SCHEMA
from jumpbench.tables.language.schema import schema_text
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import Selection
from jumpbench.tables.views.captions import caption
from jumpbench.tables.views.render import as_markdown, to_markdown
from jumpbench.tables.views.wording import made_by, older_runs, state

_MARKED = re.compile(r"(<!-- (\S+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
RESULTS = "RESULTS.md"


def record(table_id: str, selection: Selection) -> Path:
    """Write ``reproduce/SLUG/results/TABLE.SCALE.json`` from the runs that are finished.

    The whole table is collected anew and no run is made: cells without one are recorded as not
    run. Its files are renewed too, and its pictures are kept beside the record, each at most 200
    kB. A run that is older than the code of its method is told.

    Raises:
        UserError: a part of a table, one changed by overrides, or no finished run of it.
    """
    if selection.rows or selection.columns:
        raise UserError("a table is recorded whole; leave out rows= and columns=")
    if selection.changes:
        raise UserError(
            f"a table changed by overrides is not recorded ({selection.changes[0]}); "
            "write them into the table file, as a scale or a row"
        )
    job = Reproduction(load(table_id), selection)
    if not any(cell.has_number for cell in job.cells()):
        raise UserError(
            f"{table_id} has no finished run at scale {selection.scale}; make it first (with the "
            "same seeds=)"
        )
    view = job.write(final=True, anew=True)
    content = job.content(view.cells)
    content["provenance"] = dict(view.provenance)
    if older := older_runs(view.provenance):
        print(f"warning: {older}; fresh=true makes them again", file=sys.stderr)
    pictures = pictures_for(view, job.drawn)
    kept = keep_pictures(place_for_record(table_id, selection.scale), pictures)
    path = write_record(table_id, selection.scale, content | ({"pictures": kept} if kept else {}))
    drop_others(path, kept)
    if path != recorded_file(table_id, selection.scale):
        print(f"note: the installed package is left alone; the record is {path}", file=sys.stderr)
    return path


def readmes() -> list[Path]:
    """Renew the generated parts of the pages in ``reproduce/`` and of the README above it.

    ``RESULTS.md`` of each paper holds its recorded tables, whole. Between markers stand, in
    README files, ``<!-- tables -->`` (all tables with what is recorded), ``<!-- results -->``
    (a summary of the folder's paper with links), and ``<!-- result:SLUG/TABLE.SCALE -->`` (one
    recorded table). With ``JUMPBENCH_REPRODUCE`` these are the files in and beside that folder.
    """
    changed = []
    folder = reproduce_dir()
    if place_for_record("x/y", "small").parents[2] != folder:
        raise UserError("pages are renewed in a checkout, or with JUMPBENCH_REPRODUCE")
    if folder == suite_root() / "reproduce" and _renewed(folder / SCHEMA, schema_text()):
        changed.append(folder / SCHEMA)
    for slug in sorted({table_id.split("/")[0] for table_id in _of_the_pages()}):
        if (text := _results(slug)) and _renewed(folder / slug / RESULTS, text):
            changed.append(folder / slug / RESULTS)
    for path in (folder.parent / "README.md", *sorted(folder.glob("*/README.md"))):
        if not path.is_file():
            continue
        old = path.read_text(encoding="utf-8")

        def renew(marker: re.Match[str], page: Path = path) -> str:
            return f"{marker[1]}{_content(marker[2], page.parent)}{marker[3]}"

        if _renewed(path, _MARKED.sub(renew, old)):
            changed.append(path)
    return changed


def _of_the_pages() -> list[str]:
    """Tables whose files lie where the pages do."""
    return [name for name in available() if (reproduce_dir() / f"{name}.yaml").is_file()]


def _renewed(path: Path, text: str) -> bool:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_atomic(path, text)
    return True


def _content(marker: str, folder: Path) -> str:
    """What stands behind a marker of the page in a folder."""
    if marker == "tables":
        return _table_list()
    if marker == "results":
        return _summaries(folder.name) or "Nothing is recorded yet.\n"
    if marker.startswith("result:"):
        table_id, scale = marker.removeprefix("result:").rsplit(".", 1)
        if not recorded_file(table_id, scale).is_file():
            return "Not recorded yet.\n"
        return _recorded(load(table_id), scale, folder)
    raise UserError(f"unknown marker '<!-- {marker} -->' in a README")


def _each_record(slug: str, write: Callable[[Table, str], str]) -> list[str]:
    ids = [table_id for table_id in _of_the_pages() if table_id.startswith(f"{slug}/")]
    return [write(load(table_id), s) for table_id in ids for s in recorded_scales(table_id)]


def _results(slug: str) -> str:
    """The page of all recorded tables of a paper, empty if there is none."""
    folder = reproduce_dir() / slug
    texts = _each_record(slug, lambda table, scale: _recorded(table, scale, folder))
    head = (
        f"# Recorded results: {slug}\n\nGenerated by `jumpbench report --readme` from "
        "`results/*.json`; how numbers are judged is in the main README.\n\n"
    )
    return head + "\n".join(texts) if texts else ""


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
    made = as_markdown(made_by(view))
    tail = f"Regenerate with `{one_line(command_of(table, content))}`. {made}.\n"
    return f'<a id="{_anchor(table.id, scale)}"></a>\n\n{to_markdown(view, 2)}\n{pictures}{tail}'


def _anchor(table_id: str, scale: str) -> str:
    return f"{table_id.split('/')[1]}-{scale}"


def _summaries(slug: str) -> str:
    """A few lines for each recorded table: counts, claims that were judged, and a link."""

    def one(table: Table, scale: str) -> str:
        view = recorded_view(table, read_record(table.id, scale))
        link = f"{RESULTS}#{_anchor(table.id, scale)}"
        lines = [f"- [{as_markdown(view.title)}]({link}), {scale}: {summary(view)}."]
        for claim in view.claims:
            if claim["holds"] is not None:
                printed = f" (in print: {claim['in_print']})" if claim.get("in_print") else ""
                lines.append(f"  - **{state(claim)}**: {as_markdown(claim['text'] + printed)}")
        return "\n".join(lines) + "\n"

    return "".join(_each_record(slug, one))


def _table_list() -> str:
    """Every table with its records, by what a reader may take them for."""
    kinds = ("paper setting", "own setting", "medium", "miniature")
    lines = [
        "| table | what it shows | cost | data | " + " | ".join(kinds) + " |",
        "|---" * (4 + len(kinds)) + "|",
    ]
    for table_id in _of_the_pages():
        table = load(table_id)
        by_kind: dict[str, list[str]] = {}
        for scale in recorded_scales(table_id):
            view = recorded_view(table, read_record(table_id, scale))
            link = f"reproduce/{table.slug}/{RESULTS}#{_anchor(table_id, scale)}"
            text = f"[{scale}]({link}): {summary(view)}"
            by_kind.setdefault(view.scale.kind, []).append(text)
        lines.append(
            f"| `{table_id}` | {as_markdown(table.title)} | {cost_of(table.cost)} | "
            f"{', '.join(table.data) or 'none'} | "
            + " | ".join("<br>".join(by_kind.get(kind, ["–"])) for kind in kinds)
            + " |"
        )
    return "\n".join(lines) + f"\n\n{COSTS[0].upper()}{COSTS[1:]}.\n"
