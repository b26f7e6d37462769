"""How a table reads: the same words in the terminal, Markdown, LaTeX and HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from jumpbench.tables.cells import Cell
from jumpbench.tables.language import Metric, Scale, Table
from jumpbench.tables.names import visible

MARKS = {"match": "≈", "better": "▲", "worse": "▼"}
LEGEND = "≈ matches the paper, ▲ better, ▼ worse; no mark: nothing to compare with"
HOLDS = {True: "holds", False: "fails", None: "open"}
ABSENT = {"missing": "not run", "failed": "failed", "data-missing": "data missing", "cited": "–"}


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

    @property
    def scale(self) -> Scale:
        """The scale as the table file has it now; one that it lacks is a miniature."""
        return self.table.scales.get(self.scale_name) or Scale(self.scale_name, decides=False)

    @property
    def title(self) -> str:
        prefix = {"smoke": "Smoke run of: ", "miniature": "Miniature of: "}.get(self.scale.kind, "")
        return self.scale.title or prefix + self.table.title

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

    def of(self, rows: Sequence[str], columns: Sequence[str]) -> "View":
        """The part of a view that a selection names."""
        cells = [c for c in self.cells if c.row in rows and c.column in columns]
        if len(cells) == len(self.cells):
            return self
        return replace(self, cells=cells, part="Part of the table; its files hold the whole.")

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


@dataclass(frozen=True)
class Text:
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
    rows: tuple[tuple[str, tuple[Text, ...]], ...]
    perfect: tuple[str, ...] | None

    @property
    def perfect_label(self) -> str:
        """What the last line is: the best that any method could score."""
        return "ceiling (perfect)" if self.metric.better == "higher" else "floor (perfect)"


def number(value: float | str | None, digits: int) -> str:
    """Fixed digits in the readable range, scientific notation outside it.

    What is rounding error beside any printable number (1e-12) is zero.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if abs(value) < 1e-12:
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
        return Text(ABSENT[cell.status], paper, "", cell.status)
    measured = number(cell.measured, metric.digits)
    if cell.std is not None:
        scientific = "e" in measured
        measured += f"±{cell.std:.1e}" if scientific else f"±{cell.std:.{metric.digits}f}"
    if cell.status == "partial":
        measured += " [partial]"
    return Text(measured, paper, MARKS.get(cell.verdict or "", ""), cell.status)


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


def inside(view: View) -> list[Cell]:
    """The cells that are printed: what is only cited stands beside comparable numbers alone."""
    cells = [c for c in view.cells if view.beside or c.status != "cited"]
    rows_out, columns_out = left_out(cells)
    return [c for c in cells if c.row not in rows_out and c.column not in columns_out]


def blocks(view: View) -> list[Block]:
    """The cells, one block per metric, in the order of the table file.

    Rows and columns that the scale leaves out whole are not printed; :func:`notes` names them.
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
        result.append(
            Block(
                metric,
                tuple(map(view.column_head, columns)),
                tuple(
                    (
                        view.row_head(row),
                        tuple(cell_text(at.get((row, c)), metric, beside) for c in columns),
                    )
                    for row in rows
                ),
                tuple(number(fmean(p), metric.digits) if p else "" for p in perfect)
                if any(perfect)
                else None,
            )
        )
    return result


def title(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑"}.get(metric.better, "")
    unit = f" [{metric.unit}]" if metric.unit else ""
    return f"{metric.label or metric.name}{unit}{arrow}"


def legend(view: View) -> str:
    """What the marks mean, where there are any."""
    return f" {LEGEND}." if view.judged else ""


def counts(cells: Sequence[Cell]) -> str:
    """How much stands behind the numbers: ``30 of 36 cells measured; 1-3 seeds, 10000 samples``."""
    measured = [cell for cell in cells if cell.status == "measured"]
    partial = sum(cell.status == "partial" for cell in cells)
    asked = [cell for cell in cells if cell.asked]
    text = f"{len(measured)} of {len(asked)} cells measured"
    text += f", {partial} in part" if partial else ""
    for name, values in (
        ("seeds", {cell.n_seeds for cell in cells if cell.has_number}),
        ("samples", {cell.n_samples for cell in cells if cell.has_number and cell.n_samples}),
    ):
        if values:
            low, high = min(values), max(values)
            words = name.removesuffix("s") if high == 1 else name
            text += f"; {low if low == high else f'{low} to {high}'} {words} a cell"
    return text


def banner(view: View) -> list[str]:
    """What a reader must know before any number: what ran, and whether it can be judged."""
    lines = [view.part] if view.part else []
    if view.overrides:
        lines.append(f"Changed by overrides: {', '.join(view.overrides)}. Nothing here is judged.")
    if view.table.foreign:
        lines.append(
            f"From {view.table.file}, in the place of the suite's table. Nothing here is judged."
        )
    note = view.scale.note.rstrip(".")
    note = f": {note}." if note else "."
    return lines + {
        "smoke": [f"Smoke scale{note} It shows only that everything runs."],
        "miniature": [f"A miniature{note}" + (
            " It decides no claim of the paper, whose numbers are of another setting."
            if view.table.published or view.table.claims else "")],
        "medium": [f"Medium scale{note}"],
        "paper setting": [f"Scale {view.scale_name}{note}"] if view.scale.note else [],
    }[view.scale.kind]  # fmt: skip


def notes(view: View) -> list[str]:
    """Everything else that a reader must know, one statement a line."""
    table, cells = view.table, view.cells
    lines = list(table.reading)
    present = {cell.row for cell in inside(view)}
    for row in (row for row in table.rows if row.name in present):
        head = view.row_head(row.name).removesuffix(" *")
        if row.not_target and view.beside:
            lines.append(f"{head}: not compared with the paper: {row.not_target}")
        if row.note:
            lines.append(f"{head}: {row.note}")
    if any(row.ours for row in table.rows if row.name in present):
        lines.append("*: our row, not in the paper.")
    if any(row.cited for row in table.rows if row.name in present):
        lines.append("–: as the paper prints it, not measured here.")
    if view.beside and not all(metric.printed for metric in table.metrics.values()):
        lines.append("The paper draws this and prints no number, so there is none to compare with.")
    for what, names in zip(("rows", "columns"), left_out(cells), strict=True):
        if names:
            lines.append(f"Not part of the {view.scale_name} scale: {what} {', '.join(names)}")
    told: set[str] = set()
    for cell in cells:
        if cell.note and cell.status != "cited" and cell.note not in told and not _outside(cell):
            told.add(cell.note)
            lines.append(f"{cell.row}, {cell.column}: {cell.status}: {cell.note}")
    return [visible(" ".join(line.split())) for line in lines]


def claim_words(claim: Mapping[str, Any]) -> str:
    """The detail of a claim with whether it holds in the paper's own numbers."""
    printed = f"in print: {claim['in_print']}" if claim.get("in_print") else ""
    return "; ".join(part for part in (visible(claim["detail"]), printed) if part)


def made_by(provenance: Mapping[str, Any]) -> str:
    """Which versions of the code made the runs, and on what."""
    commits = ", ".join(provenance.get("run_commits") or ())
    hardware = "; ".join(provenance.get("hardware") or ())
    text = f"Runs made by {commits}" if commits else "No run yet"
    text += f" on {hardware}" if hardware else ""
    outdated = provenance.get("outdated_runs") or ()
    if outdated:
        text += (
            f"; {len(outdated)} of {provenance.get('n_runs', len(outdated))} runs are older than "
            f"the code of their method ({', '.join(outdated[:3])}"
            f"{', ...' if len(outdated) > 3 else ''})"
        )
    return text
