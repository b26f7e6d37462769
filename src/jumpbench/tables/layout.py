"""How a cell reads: the same words in the terminal, Markdown, LaTeX and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from jumpbench.tables.collect import Cell
from jumpbench.tables.spec import Metric, Table

MARKS = {"match": "≈", "better": "▲", "worse": "▼"}
LEGEND = "≈ matches the paper, ▲ better, ▼ worse; no mark: nothing to compare with"
ABSENT = {"missing": "not run", "failed": "failed", "data-missing": "data missing", "cited": "–"}


@dataclass(frozen=True)
class Shown:
    """The parts of one cell: the measured number, the published one, and the verdict's mark."""

    measured: str
    paper: str
    mark: str
    status: str

    @property
    def line(self) -> str:
        mark = f" {self.mark}" if self.mark else ""
        return f"{self.measured}{mark}" + (f" (paper {self.paper})" if self.paper else "")


@dataclass(frozen=True)
class Block:
    """All cells of one metric: rows by columns."""

    metric: Metric
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shown, ...]], ...]
    floors: tuple[str, ...] | None

    @property
    def floor_label(self) -> str:
        """What the last line is: the best that any method could score."""
        return "ceiling (perfect)" if self.metric.better == "higher" else "floor (perfect)"


def number(value: float | str | None, digits: int) -> str:
    """Fixed digits in the readable range, scientific notation outside it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value != 0 and (abs(value) < 0.5 * 10.0**-digits or abs(value) >= 1e6):
        return f"{value:.2e}"
    return f"{value:.{digits}f}"


def show(cell: Cell | None, metric: Metric) -> Shown:
    if cell is None:
        return Shown("", "", "", "none")
    paper = number(cell.paper, metric.digits)
    if paper and cell.paper_std is not None:
        paper += f"±{number(cell.paper_std, metric.digits)}"
    if cell.status != "measured":
        return Shown(ABSENT[cell.status], paper, "", cell.status)
    measured = number(cell.measured, metric.digits)
    if cell.std is not None:
        scientific = "e" in measured
        measured += f"±{cell.std:.1e}" if scientific else f"±{cell.std:.{metric.digits}f}"
    return Shown(measured, paper, MARKS.get(cell.verdict or "", ""), cell.status)


def left_out(cells: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """(rows, columns) of which the scale contains no cell at all."""
    inside = [cell for cell in cells if not _outside(cell)]
    rows, columns = {cell.row for cell in inside}, {cell.column for cell in inside}
    outside = [cell for cell in cells if _outside(cell)]
    return (
        list(dict.fromkeys(cell.row for cell in outside if cell.row not in rows)),
        list(dict.fromkeys(cell.column for cell in outside if cell.column not in columns)),
    )


def _outside(cell: Cell) -> bool:
    return cell.status == "missing" and not cell.asked


def blocks(table: Table, cells: Sequence[Cell]) -> list[Block]:
    """The cells, one block per metric, in the order of the table file.

    Rows and columns that the scale leaves out whole are not shown; :func:`notes` names them.
    """
    rows_out, columns_out = left_out(cells)
    cells = [c for c in cells if c.row not in rows_out and c.column not in columns_out]
    labels = {row.name: row.name + " *" * row.ours for row in table.rows}
    found = []
    for metric in table.metrics.values():
        mine = [cell for cell in cells if cell.metric == metric.name]
        at = {(cell.row, cell.column): cell for cell in mine}
        columns = tuple(c.name for c in table.columns if any(x.column == c.name for x in mine))
        rows = [row.name for row in table.rows if any(x.row == row.name for x in mine)]
        if not mine:
            continue
        floors = [[c.floor for c in mine if c.column == n and c.floor is not None] for n in columns]
        found.append(
            Block(
                metric,
                columns,
                tuple(
                    (labels[r], tuple(show(at.get((r, c)), metric) for c in columns)) for r in rows
                ),
                tuple(number(fmean(f), metric.digits) if f else "" for f in floors)
                if any(floors)
                else None,
            )
        )
    return found


def title(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑"}.get(metric.better, "")
    unit = f" [{metric.unit}]" if metric.unit else ""
    return f"{metric.label or metric.name}{unit}{arrow}"


def legend(table: Table, scale: str) -> str:
    """What the marks mean, where there are any."""
    return f" {LEGEND}." if table.published and table.scales[scale].compared else ""


def counts(cells: Sequence[Cell]) -> str:
    """How much stands behind the numbers: ``30 of 36 cells measured; 1-3 seeds, 10000 samples``."""
    mine = [cell for cell in cells if cell.status == "measured"]
    asked = [cell for cell in cells if cell.asked]
    text = f"{len(mine)} of {len(asked)} cells measured"
    for name, values in (
        ("seeds", {cell.n_seeds for cell in mine}),
        ("samples", {cell.n_samples for cell in mine if cell.n_samples}),
    ):
        if values:
            low, high = min(values), max(values)
            words = name.removesuffix("s") if high == 1 else name
            text += f"; {low if low == high else f'{low} to {high}'} {words} a cell"
    return text


def notes(table: Table, scale: str, cells: Sequence[Cell]) -> list[str]:
    """Everything a reader must know, one statement a line."""
    lines = []
    if table.scales[scale].note:
        lines.append(f"Scale {scale}: {table.scales[scale].note}")
    if scale == "smoke":
        lines.append("The smoke scale only shows that everything runs; it is not compared.")
    elif table.published and not table.scales[scale].compared:
        lines.append("This is not the paper's setting: its numbers are shown, not compared.")
    lines += table.reading
    shown = {cell.row for cell in cells}
    for row in (row for row in table.rows if row.name in shown):
        if row.not_target:
            lines.append(f"{row.name}: not compared with the paper: {row.not_target}")
        if row.note:
            lines.append(f"{row.name}: {row.note}")
    if any(row.ours for row in table.rows if row.name in shown):
        lines.append("*: our row, not in the paper.")
    if any(row.cited for row in table.rows if row.name in shown):
        lines.append("–: shown as the paper prints it, not measured here.")
    for what, names in zip(("rows", "columns"), left_out(cells), strict=True):
        if names:
            lines.append(f"Not part of the {scale} scale, so not shown: {what} {', '.join(names)}")
    told: set[str] = set()
    for cell in cells:
        if cell.note and cell.status != "cited" and cell.note not in told and not _outside(cell):
            told.add(cell.note)
            lines.append(f"{cell.row}, {cell.column}: {cell.status}: {cell.note}")
    return lines
