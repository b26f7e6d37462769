"""How a table reads: the same words in the terminal, Markdown, LaTeX and HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from jumpbench.tables.judging.break_even import in_words
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.spreads import ROUNDING
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.views.view import View

ALIKE = 1.5
"""What perfect methods would score is told apart where it differs by this factor."""
MARKS = {"match": "≈", "better": "▲", "worse": "▼"}
ABSENT = {"missing": "not run", "failed": "failed", "data-missing": "data missing", "cited": "–"}


@dataclass(frozen=True)
class Text:
    """The parts of one cell: the measured number, the published one, and the verdict's mark."""

    measured: str
    paper: str
    mark: str
    status: str
    best: bool = False  # no row of its column has a better number, as printed
    cell: Cell | None = None

    @property
    def line(self) -> str:
        mark = f" {self.mark}" if self.mark else ""
        return f"{self.measured}{mark}" + (f" (paper {self.paper})" if self.paper else "")


@dataclass(frozen=True)
class Block:
    """All cells of one metric: rows by columns."""

    metric: Metric
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Text, ...]], ...]
    perfect: tuple[str, ...] | None

    @property
    def perfect_label(self) -> str:
        """What the last line is: the best that any method could score."""
        return "ceiling (perfect)" if self.metric.better == "higher" else "floor (perfect)"


def number(value: float | str | None, digits: int) -> str:
    """Fixed digits in the readable range, scientific notation outside it.

    What is rounding error beside any printable number is zero.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if abs(value) < ROUNDING:
        return f"{0.0:.{digits}f}"
    if abs(value) < 0.5 * 10.0**-digits or abs(value) >= 1e6:
        return f"{value:.2e}"
    return f"{value:.{digits}f}"


def cell_text(cell: Cell | None, metric: Metric, beside: bool = True) -> Text:
    """A cell's words; ``beside`` says whether the published number stands with it."""
    if cell is None:
        return Text("", "", "", "none")
    paper = number(cell.paper, metric.digits) if beside else ""
    if paper and cell.paper_std is not None:
        paper += f"±{number(cell.paper_std, metric.digits)}"
    if not cell.has_number:
        return Text(ABSENT[cell.status], paper, "", cell.status, cell=cell)
    measured = number(cell.measured, metric.digits)
    if metric.break_even:
        measured = in_words([value.value for value in cell.values])
    elif cell.std or (cell.std is not None and not metric.without_error):
        scientific = "e" in measured
        measured += f"±{cell.std:.1e}" if scientific else f"±{cell.std:.{metric.digits}f}"
    if cell.status == "partial":
        measured += " [partial]"
    mark = MARKS.get(cell.verdict or "", "")
    return Text(measured, paper, mark, cell.status, cell=cell)


def left_out(cells: Sequence[Cell]) -> tuple[list[str], list[str], list[str]]:
    """(rows, columns, metrics) of which the scale contains no cell at all.

    Metrics are those of the rows and columns that it contains.
    """
    inside = [cell for cell in cells if not is_outside(cell)]
    outside = [cell for cell in cells if is_outside(cell)]

    def absent(of: Callable[[Cell], str], among: Sequence[Cell]) -> list[str]:
        present = set(map(of, inside))
        return list(dict.fromkeys(name for name in map(of, among) if name not in present))

    rows = absent(lambda cell: cell.row, outside)
    columns = absent(lambda cell: cell.column, outside)
    there = [c for c in outside if c.row not in rows and c.column not in columns]
    return rows, columns, absent(lambda cell: cell.metric, there)


def is_outside(cell: Cell) -> bool:
    return cell.status == "missing" and not cell.asked


def inside(view: View) -> list[Cell]:
    """The cells that are printed: what is only cited stands beside comparable numbers alone."""
    cells = [c for c in view.cells if view.beside or c.status != "cited"]
    rows, columns, metrics = left_out(cells)
    rows += not_run(view)
    columns += columns_not_run(view)
    return [
        c for c in cells
        if c.row not in rows and c.column not in columns and c.metric not in metrics
    ]  # fmt: skip


def not_run(view: View) -> list[str]:
    """Rows of which no run has been made, where others have one: they are named in one line."""
    made = {c.row for c in view.cells if c.status not in ("missing", "cited")}
    idle = {c.row for c in view.cells if c.asked and c.status == "missing"} - made
    return [row.name for row in view.table.rows if row.name in idle] if made else []


def columns_not_run(view: View) -> list[str]:
    """Likewise columns, where no published number stands in them."""
    made = {c.column for c in view.cells if c.status not in ("missing", "cited")}
    idle = {c.column for c in view.cells if c.asked and c.status == "missing"} - made
    shown = made and not view.beside
    return [column.name for column in view.table.columns if column.name in idle] if shown else []


def blocks(view: View) -> list[Block]:
    """The cells, one block per metric, in the order of the table file.

    Rows and columns that the scale leaves out whole, and rows that were not run, are not printed;
    the words around the table name them.
    """
    result = []
    for metric in view.table.metrics.values():
        mine = [cell for cell in inside(view) if cell.metric == metric.name]
        if not mine:
            continue
        at = {(cell.row, cell.column): cell for cell in mine}
        columns = [c.name for c in view.table.columns if any(x.column == c.name for x in mine)]
        rows = [row.name for row in view.table.rows if any(x.row == row.name for x in mine)]
        beside = view.beside and metric.printed
        perfect = [
            [c.perfect for c in mine if c.column == name and c.perfect is not None]
            for name in columns
        ]
        methods = [row.name for row in view.table.rows if not row.reference]
        best = {
            c: best_rows([at[row, c] for row in methods if (row, c) in at], metric) for c in columns
        }
        result.append(
            Block(
                metric,
                tuple(map(view.column_head, columns)),
                tuple(
                    (
                        view.row_head(row),
                        tuple(
                            replace(
                                cell_text(at.get((row, c)), metric, beside), best=row in best[c]
                            )
                            for c in columns
                        ),
                    )
                    for row in rows
                ),
                tuple(_span(p, metric.digits) for p in perfect) if any(perfect) else None,
            )
        )
    return result


def _span(perfect: Sequence[float], digits: int) -> str:
    """Their mean; the least and the largest where rows are judged by unlike numbers of samples."""
    if perfect and max(perfect) > ALIKE * min(perfect) > 0:
        return f"{number(min(perfect), digits)} to {number(max(perfect), digits)}"
    return number(fmean(perfect), digits) if perfect else ""


def best_rows(column: Sequence[Cell], metric: Metric) -> set[str]:
    """Rows whose printed number no other row of the column beats; whole cells alone count.

    None where the metric has no better direction, or one row alone has a number.
    """
    whole = [c for c in column if c.status == "measured" and c.measured is not None]
    if metric.better == "none" or len(whole) < 2:
        return set()
    extreme = max if metric.better == "higher" else min
    best = number(extreme(c.measured for c in whole), metric.digits)  # type: ignore[type-var]
    return {c.row for c in whole if number(c.measured, metric.digits) == best}
