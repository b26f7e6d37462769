"""What of a begun table was not run, and the command that makes it."""

import shlex
from collections.abc import Sequence

from jumpbench.names import one_line
from jumpbench.tables.views.layout import columns_not_run, not_run
from jumpbench.tables.views.view import View
from jumpbench.tables.views.wording import named

THE_REST = "This makes the rest:"
"""What stands before the command."""


def unrun(view: View) -> str:
    """Rows, columns, and columns of single rows that were not run; empty if all, or nothing, was.

    :func:`rest_command` makes them.
    """

    def head(row: str) -> str:
        return view.row_head(row).removesuffix(" *")

    said = []
    if whole := [*map(head, not_run(view)), *map(view.column_head, columns_not_run(view))]:
        said.append(f"Not run: {_parted(whole)}.")
    in_part = [
        f"{head(row)} (not {_parted([view.column_head(column) for column in columns])})"
        for row, columns in run_in_part(view).items()
    ]
    if in_part:
        said.append(f"Run in part: {_parted(in_part)}.")
    return one_line(" ".join(said))


def run_in_part(view: View) -> dict[str, list[str]]:
    """Rows of which runs have been made, with the columns in which none has; without the columns
    that no row has."""
    made = {c.row for c in view.cells if c.status not in ("missing", "cited")}
    named_alone = columns_not_run(view)
    # A missing cell with a note has runs, but nothing to be compared with.
    idle = {
        (c.row, c.column) for c in view.cells
        if c.asked and c.status == "missing" and not c.note and c.column not in named_alone
    }  # fmt: skip
    lacking = {
        row.name: [c.name for c in view.table.columns if (row.name, c.name) in idle]
        for row in view.table.rows if row.name in made
    }  # fmt: skip
    return {row: columns for row, columns in lacking.items() if columns}


def _parted(names: Sequence[str]) -> str:
    """Names with semicolons between them where one has a comma of its own."""
    return named(names, "; " if "," in "".join(names) else ", ")


def rest_command(view: View) -> str:
    """The command that makes the rest of what a view shows; finished runs are not made again."""
    said = view.said or (f"scale={view.scale_name}", *view.overrides)
    return one_line(shlex.join(["jumpbench", "table", view.table.id, *said]))
