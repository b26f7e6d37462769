"""What is said around a table, the same words in the terminal, Markdown, LaTeX and HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

from jumpbench.names import one_line
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Table
from jumpbench.tables.views.layout import inside, is_outside, left_out
from jumpbench.tables.views.machines import mixed_machines
from jumpbench.tables.views.view import View

MOST_LEFT_OUT = 12
"""Names that one note says are left out, or not run."""
LEGEND = "≈ matches the paper, ▲ better, ▼ worse; no mark: nothing to compare with"


def title(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑"}.get(metric.better, "")
    unit = f" [{metric.unit}]" if metric.unit else ""
    return f"{metric.label or metric.name}{unit}{arrow}"


def named(names: Sequence[str], between: str = ", ") -> str:
    """The first names of a note, and how many more there are."""
    left = len(names) - MOST_LEFT_OUT
    return f"{between.join(names[:MOST_LEFT_OUT])}{f' and {left} more' * (left > 0)}"


def legend(view: View) -> str:
    """What the marks mean, where there are any."""
    return f" {LEGEND}." if view.judged else ""


def counts(cells: Sequence[Cell], table: Table) -> str:
    """How much stands behind the numbers: ``30 of 36 cells measured; 1 to 3 seeds a cell``.

    Facts, settings read off the configuration, are counted beside them. The samples of exact
    numbers are not named: they come from none.
    """
    measured = [cell for cell in cells if cell.status == "measured"]
    partial = sum(cell.status == "partial" for cell in cells)
    wanted = [cell for cell in cells if cell.asked and not cell.fact]
    facts = sum(cell.status == "fact" for cell in cells)
    text = f"{len(measured)} of {len(wanted)} cells measured" if wanted else "nothing to measure"
    text += f", {partial} in part" if partial else ""
    text += f", {facts} facts of the configuration" if facts else ""
    numbers = [cell for cell in cells if cell.has_number and not cell.fact]
    drawn = [c.n_samples for c in numbers if c.n_samples and not table.is_exact(c.row, c.metric)]
    for name, values in (("seeds", {cell.n_seeds for cell in numbers}), ("samples", set(drawn))):
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
    others = ", not the paper's"
    return lines + {
        "smoke": [f"Smoke scale{note} It shows only that everything runs."],
        "miniature": [f"A miniature{note}" + (
            " It decides no claim of the paper, whose numbers are of another setting."
            if view.table.published else " It decides no claim." if view.table.claims else "")],
        "medium": [f"Medium scale{note}"],
        "own setting": [
            f"A setting of ours{others * bool(view.table.published)}{note}"],
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
    shown = [cell for cell in cells if view.beside or cell.status != "cited"]
    for what, names in zip(("rows", "columns", "metrics"), left_out(shown), strict=True):
        if what == "metrics":
            names = [table.metrics[n].label or n for n in names if n in table.metrics]
        if names:
            lines.append(f"Not part of the {view.scale_name} scale: {what} {named(names)}")
    lines += mixed_machines(view)
    return [one_line(line) for line in (*lines, *reasons(view))]


def reasons(view: View) -> list[str]:
    """Why cells have no number, each reason once."""
    said: dict[str, str] = {}
    for cell in view.cells:
        if cell.note and cell.status != "cited" and not is_outside(cell):
            said.setdefault(cell.note, f"{cell.row}, {cell.column}: {cell.status}: {cell.note}")
    return [one_line(line) for line in said.values()]


def made_by(view: View) -> str:
    """Which versions of the code made the runs that gave its numbers, and on what."""
    provenance = view.provenance
    tried = any(cell.status in ("failed", "data-missing") for cell in view.cells)
    none = "No run has given a number" if tried else "No run yet"
    commits = ", ".join(provenance.get("run_commits") or ())
    hardware = "; ".join(provenance.get("hardware") or ())
    text = f"Runs made by {commits}" if commits else none
    text += f" on {hardware}" if hardware else ""
    models = ", ".join(map(str, provenance.get("models") or ()))
    text += f", from {models}" if models else ""
    same = {o["same_at"][:10] for o in provenance.get("origins") or () if o.get("same_at")}
    commits = ", ".join(sorted(same))
    since = f"short runs of commit {commits} give the same numbers" if same else ""
    aged = filter(None, (since, older_runs(provenance), other_runs(provenance)))
    return "; ".join((text, *aged))


def older_runs(provenance: Mapping[str, Any]) -> str:
    """How many runs were made before their method's code was last changed, the first three named.

    Empty if there are none.
    """
    return _counted(provenance, "outdated_runs", "are older than the code of their method")


def other_runs(provenance: Mapping[str, Any]) -> str:
    """How many runs of a record have settings that its scale no longer has; empty if none has."""
    return _counted(provenance, "other_settings", "have other settings than the scale has by now")


def _counted(provenance: Mapping[str, Any], key: str, what: str) -> str:
    """``3 of 21 runs are what (the first three, ...)``; empty if none is."""
    runs = provenance.get(key) or ()
    if not runs:
        return ""
    named = f"{', '.join(runs[:3])}{', ...' if len(runs) > 3 else ''}"
    return f"{len(runs)} of {provenance.get('n_runs', len(runs))} runs {what} ({named})"
