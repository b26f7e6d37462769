"""The part of a table that a command line selects: scale, seeds, rows, columns and overrides."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpbench.errors import UserError
from jumpbench.names import select
from jumpbench.tables.language.scale import SCALES, Scale
from jumpbench.tables.language.seeds import sets_seed
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.fast.planned_runs import replaced_files
from jumpbench.tables.planning.identity import is_anonymous


@dataclass(frozen=True)
class Selection:
    """What the command line chose: the part to make and print, and overrides of every run.

    Raises:
        UserError: an override is of the seed, which ``seeds`` would replace.
    """

    scale: str = "small"
    seeds: str | None = None
    rows: str | None = None
    columns: str | None = None
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(map(sets_seed, self.overrides)):
            raise UserError("a table takes seeds=3 or seeds=[0,2], not seed=")

    def words(self) -> list[str]:
        """What a command line says to select this."""
        parts = {"seeds": self.seeds, "rows": self.rows, "columns": self.columns}
        said = [f"{key}={value}" for key, value in parts.items() if value is not None]
        return [f"scale={self.scale}", *said, *self.overrides]

    @property
    def changes(self) -> tuple[str, ...]:
        """What can change a number: overrides (not of device, loggers or workers), and files of
        one's own in the place of the suite's."""
        return (
            *(o for o in self.overrides if not is_anonymous(o)),
            *(f"{file} in the place of the suite's" for file in replaced_files()),
        )

    @property
    def is_part(self) -> bool:
        return bool(self.seeds or self.rows or self.columns)

    def label(self, table: Table) -> str:
        """Name of the table's folder: the scale, and a hash of what is not as published in it."""
        if not self.changes and not table.foreign:
            return self.scale
        text = "\n".join(sorted(self.changes))
        text += "".join(file.read_text(encoding="utf-8") for file in replaced_files())
        if table.foreign:
            text += Path(table.file).read_text(encoding="utf-8")
        return f"{self.scale}+{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def scale_of(table: Table, name: str) -> Scale:
    """The scale of that name.

    Raises:
        UserError: there is none.
    """
    if name not in SCALES:
        raise UserError(f"no scale '{name}'; there are: {', '.join(SCALES)}")
    if name not in table.scales:
        raise UserError(f"{table.id} has no {name} scale; it has: {', '.join(table.scales)}")
    return table.scales[name]


def chosen(table: Table, selection: Selection) -> tuple[list[str], list[str]]:
    """Names of the selected rows and columns.

    Raises:
        UserError: one that does not exist.
    """
    rows = [row.name for row in table.rows]
    columns = [column.name for column in table.columns]
    return (
        select("row", selection.rows, rows) if selection.rows else rows,
        select("column", selection.columns, columns) if selection.columns else columns,
    )


def seeds(text: str | None, default: int) -> Sequence[int]:
    """``seeds=3``: the seeds 0, 1, 2; ``seeds=4,7`` or ``seeds=[4]``: those seeds.

    Raises:
        UserError: anything else.
    """
    if text is None:
        return range(default)
    text = text.strip()
    listed = text.startswith("[") and text.endswith("]")
    parts = [part.strip() for part in (text[1:-1] if listed else text).split(",") if part.strip()]
    plain = all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    if not parts or not plain or parts == ["0"] == [text]:
        raise UserError(f"seeds={text[:40]!r}: give a number of seeds (3), or seeds ([0,2])")
    if len(parts) == 1 and not listed:
        if int(parts[0]) > 1000:
            raise UserError(f"seeds={parts[0]}: more than 1000 seeds; give them as a list, [7]")
        return range(int(parts[0]))
    return [int(part) for part in dict.fromkeys(parts)]
