"""One table at one scale: what all of its formats show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from jumpbench.paths import MADE
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.scale import Scale
from jumpbench.tables.language.types import Table


@dataclass(frozen=True)
class View:
    """One table at one scale with everything that its formats say about it."""

    table: Table
    scale_name: str
    cells: Sequence[Cell]
    claims: Sequence[Mapping[str, Any]] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[str] = ()
    part: str = ""  # what of it is shown here, if not all
    said: Sequence[str] = ()  # words of a command line that choose it, behind its id

    @property
    def scale(self) -> Scale:
        """The scale as the table file has it now; one that it lacks is a miniature."""
        return self.table.scales.get(self.scale_name) or Scale(
            cast(Any, self.scale_name), decides=False
        )

    @property
    def title(self) -> str:
        """Of the scale; else the table's, as in ``Table 9 in miniature: digits of one class``."""
        kind = {"smoke": ", smoke run", "miniature": " in miniature"}.get(self.scale.kind, "")
        name, *rest = self.table.title.split(": ", maxsplit=1)
        return self.scale.title or ": ".join((name + kind, *rest))

    @property
    def heading(self) -> str:
        """The title with the scale; a table that a command made has none."""
        return self.title if self.table.slug in MADE else f"{self.title} ({self.scale_name} scale)"

    @property
    def about(self) -> str:
        return self.scale.about or self.table.about

    @property
    def beside(self) -> bool:
        """Whether published numbers stand beside the measured ones."""
        return bool(self.table.published) and self.scale.compared

    @property
    def judged(self) -> bool:
        return self.beside and not self.not_judged

    @property
    def not_judged(self) -> str:
        """Why neither verdicts nor claims can be given, empty if they can."""
        return why_not_judged(self.table, self.overrides)

    def of(self, rows: Sequence[str], columns: Sequence[str], said: Sequence[str] = ()) -> "View":
        """The part of a view that a selection names; ``said`` are its words."""
        cells = [c for c in self.cells if c.row in rows and c.column in columns]
        whole = len(cells) == len(self.cells)
        part = self.part if whole else "Part of the table; its files hold the whole."
        return replace(self, cells=cells, part=part, said=said or self.said)

    def row_head(self, row: str) -> str:
        ours = any(r.name == row and r.ours for r in self.table.rows)
        return self.scale.heads.rows.get(row, row) + " *" * ours

    def column_head(self, column: str) -> str:
        return self.scale.heads.columns.get(column, column)


def why_not_judged(table: Table, overrides: Sequence[str]) -> str:
    if overrides:
        return f"not judged: changed by {', '.join(overrides)}"
    if table.foreign:
        return f"not judged: {table.file} takes the place of the suite's table"
    return ""
