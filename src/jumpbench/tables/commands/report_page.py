"""``jumpbench report``: one page of all tables, made and recorded."""

import contextlib
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.paths import made_tables, outputs_root
from jumpbench.tables.commands.gpu import shown as gpu_shown
from jumpbench.tables.commands.recorded import read_content, recorded_file, recorded_scales
from jumpbench.tables.commands.recorded_views import command_of, how_to_draw, recorded_view, summary
from jumpbench.tables.commands.recordpictures import pictures_of
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import Table
from jumpbench.tables.runs.store import read_json
from jumpbench.tables.views.console import console
from jumpbench.tables.views.figures import entries
from jumpbench.tables.views.rankings import lines, matrices
from jumpbench.tables.views.view import View
from jumpbench.tables.views.webpage import Variant, to_page

_RANK = ("paper setting", "own setting", "medium", "miniature", "smoke")


def write_page(stamp: str = "") -> Path:
    """Write ``outputs/report/index.html``.

    Raises:
        UserError: no table has been made or recorded.
    """
    damaged: list[tuple[str, str]] = []
    out = console(stderr=True)
    names: Iterable[str] = shown()
    if out.is_terminal and not stamp:
        names = track(names, "tables", console=out, transient=True)
    elif not stamp:
        names = _told(list(names))
    tables = [variants for name in names if (variants := _variants(name, damaged))]
    gpu = _gpu(damaged)
    if not tables and not damaged and not gpu:
        raise UserError("no table has been made yet; make one with: jumpbench table SLUG/TABLE")
    path = page_file()
    found = matrices(variants[0].view for variants in tables)
    ranks = [{"words": matrix.words, "lines": lines(matrix.ranking)} for matrix in found]
    write_atomic(path, to_page(tables, damaged=damaged, stamp=stamp, gpu=gpu, ranks=ranks))
    return path


def _gpu(damaged: list[tuple[str, str]]) -> dict[str, Any] | None:
    """What ``jumpbench gpu`` left, in words; None if there is nothing."""
    if not gpu_shown.result_file().is_file():
        return None
    with contextlib.suppress(UserError, KeyError, TypeError, ValueError, AttributeError):
        return gpu_shown.shown(read_json(gpu_shown.result_file(), "run jumpbench gpu again"))
    print("left out: GPU check: it is damaged; run jumpbench gpu again", file=sys.stderr)
    damaged.append(("GPU check", ""))
    return None


TOLD_SECONDS = 5.0


def _told(names: Sequence[str]) -> Iterator[str]:
    """The tables, one after the other; how far they are, where no bar can say it."""
    count, last = f"{len(names)} table{'s'[: len(names) != 1]}", time.monotonic()
    print(f"report: {count}", file=sys.stderr, flush=True)
    for done, name in enumerate(names):
        if time.monotonic() - last >= TOLD_SECONDS:
            last = time.monotonic()
            print(f"report: {done} of {count}", file=sys.stderr, flush=True)
        yield name


def shown() -> list[str]:
    return [*available(), *made_tables()]


def page_file() -> Path:
    return outputs_root() / "report" / "index.html"


def _sources(table_id: str) -> Iterator[tuple[str, Path]]:
    """(label, table.json) of all that there is of a table."""
    for file in sorted((outputs_root() / "tables" / table_id).glob("*/table.json")):
        yield file.parent.name, file
    for scale in recorded_scales(table_id):
        yield f"{scale}, recorded", recorded_file(table_id, scale)


def _variants(table_id: str, damaged: list[tuple[str, str]]) -> list[Variant]:
    """What there is of a table, first what says most; what cannot be read goes to ``damaged``."""
    variants = []
    for label, file in _sources(table_id):
        try:
            table = load(table_id)
            content = read_content(file, "make the table again")
            variants.append(_variant(table, label, file, content))
        except UserError as error:
            print(f"left out: {error}", file=sys.stderr)
            damaged.append((table_id, label))

    return sorted(variants, key=_says_less)


def _says_less(variant: Variant) -> tuple[Any, ...]:
    """Order of a table's variants: one with less than half of its cells measured is a part, and
    stands behind what is whole; then its setting counts, and among equals how much is measured.
    Smoke says less than any part."""
    view = variant.view
    cells = [cell for cell in view.cells if cell.asked]
    share = sum(cell.status in ("measured", "fact") for cell in cells) / max(len(cells), 1)
    numbers = any(cell.has_number for cell in cells)
    rank = _RANK.index(view.scale.kind)
    smoke = view.scale.kind == "smoke"
    return not numbers, bool(view.overrides), smoke, share < 0.5, rank, -share


def _variant(table: Table, label: str, file: Path, content: dict[str, Any]) -> Variant:
    view = recorded_view(table, content)
    own = file.name == "table.json"  # made here
    command = command_of(table, content)
    if own:
        return Variant(view, label, command, summary(view), _drawn(view, file), with_runs=True)
    figures = pictures_of(file, content)
    bars = not figures and table.figures is None
    lacking = {entry.get("name") for entry in table.figures or ()} - set(figures)
    words = how_to_draw(table, content, "") if lacking and not content.get("pictures") else ""
    return Variant(view, label, command, summary(view), figures, bars, lacking=words)


def _drawn(view: View, file: Path) -> dict[str, Path]:
    """Figures beside a table that was made here, in the order of the table file."""
    order = [entry.get("name", "figure") for entry in entries(view.table)]
    pictures = {path.stem: path for path in sorted((file.parent / "figures").glob("*.png"))}
    named = {name: pictures[name] for name in order if name in pictures}
    return named | pictures


def stamp() -> str:
    """Changes whenever a table does."""
    files = [file for table in shown() for _, file in _sources(table)]
    files += [file for file in [gpu_shown.result_file()] if file.is_file()]
    facts = [(str(f), s.st_mtime_ns, s.st_size) for f in files if (s := f.stat())]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
