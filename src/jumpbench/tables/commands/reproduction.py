"""A table from end to end: grid -> runs -> launcher -> cells -> files and terminal."""

import contextlib
import time
from collections.abc import Callable

from jumpbench.errors import UserError
from jumpbench.files import make_folder
from jumpbench.tables.commands.progress import Terminal
from jumpbench.tables.commands.recorded import recorded_runs
from jumpbench.tables.commands.run_seconds import estimate
from jumpbench.tables.language.spec import load
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.planning import grid as grids
from jumpbench.tables.planning.labels import Labels
from jumpbench.tables.planning.selection import Selection, chosen
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.runs.attempt import forget
from jumpbench.tables.runs.store import is_finished, read_json
from jumpbench.tables.views.console import print_table
from jumpbench.tables.views.figures import functions
from jumpbench.tables.views.render import FORMATS
from jumpbench.tables.views.tablefiles import TableFiles
from jumpbench.tables.views.view import View

REFRESH_SECONDS = 2.0


def reproduce(
    table_id: str,
    selection: Selection,
    launcher: Launcher,
    fresh: bool = False,
    notes: bool = False,
    recorded: bool = False,
) -> bool:
    """Make and print one table, with claims and ``notes``; True if every selected cell has a
    number.

    Args:
        recorded: runs of the table's record, if it has one, are not made; their numbers are shown.

    Raises:
        UserError: bad input, told before anything runs.
    """

    def shown(files: TableFiles, part: View) -> None:
        print(f"written: {files.plan.folder}/{FORMATS}")
        print_table(part, notes)

    return make(table_id, selection, launcher, fresh, shown, recorded).is_complete()


def make(
    table_id: str,
    selection: Selection,
    launcher: Launcher,
    fresh: bool = False,
    shown: Callable[[TableFiles, View], None] = lambda files, part: None,
    recorded: bool = False,
) -> TableFiles:
    """Make one table; ``shown`` gets the selected part of it, also where the call is stopped.

    Raises:
        UserError: as :func:`reproduce`.
    """
    known = recorded_runs(table_id, selection.scale) if recorded else None
    if recorded and known is None:
        print(f"{table_id} has no record at scale {selection.scale}: all its runs are made")
    plan = TablePlan(load(table_id), selection, known.seeds if known else ())
    files = TableFiles(plan, known)
    if not any(cell.asked or cell.row.cited for cell in plan.part):
        raise UserError(
            f"{table_id}: nothing of this selection is part of the {selection.scale} scale; "
            "choose other rows or columns, or scale=paper"
        )
    for note in grids.not_applied(plan.part, plan.table, selection):
        print(note)
    labels = Labels(files.table, plan.scale, plan.part)
    try:
        _make(files, labels, launcher, fresh)
    finally:
        view = files.write(final=True)
        shown(files, view.of(*chosen(files.table, selection), files.said(part=True)))
    _mirror(files, labels)
    return files


def _make(files: TableFiles, labels: Labels, launcher: Launcher, fresh: bool) -> None:
    """Make every selected run that is not finished; the files grow while runs end.

    ``fresh``: those that fill a cell are made again, those that they need are not.
    """
    plan, by_hash = files.plan, labels.of_loggers()
    make_folder(plan.folder)
    if fresh:
        forget([run.folder for run in plan.runs if run.hash in by_hash])
    pending = [run for run in files.runs() if not is_finished(run.folder)]
    if not pending:
        return
    files.write()  # an unwritable folder is told before anything runs
    functions(files.table)  # so is a figure that cannot be drawn
    written = time.monotonic()

    def refresh() -> None:
        nonlocal written
        if time.monotonic() - written >= REFRESH_SECONDS:
            with contextlib.suppress(UserError):  # the run itself reports a disk that refuses
                files.write()
                written = time.monotonic()

    hashes = [run.hash for run in pending]
    expected = estimate(plan.table.id, plan.scale, plan.part, hashes).seconds
    with Terminal(pending, refresh, labels.names(), expected) as terminal:
        launcher.launch(pending, terminal, by_hash)


def _mirror(files: TableFiles, labels: Labels) -> None:
    """In the loggers that the call asks for, if any: runs that they have not yet, and the table."""
    plan, by_hash = files.plan, labels.of_loggers()
    logged = next((run.config for run in plan.runs if run.config.get("logger")), None)
    if logged is None:
        return
    from jumpbench.tables.commands.tablemirror import mirror_table
    from jumpbench.tables.runs.loggers import wanted_loggers
    from jumpbench.tables.runs.mirrors import mirror_finished

    for run in plan.runs:
        if is_finished(run.folder):
            mirror_finished(run.folder, run.placed(), by_hash.get(run.hash, {}), run.hash)
    content = read_json(plan.folder / "table.json", "make the table again")
    heads = plan.table.scales[plan.scale].heads
    for wanted in wanted_loggers(logged):
        mirror_table(wanted, plan.folder, content, files.table.title, heads)
