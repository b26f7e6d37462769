"""A table in every format a reader wants: json, Markdown, LaTeX, HTML, csv."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpbench.files import write_atomic
from jumpbench.names import one_line
from jumpbench.tables.views import claimwords, unfinished, wording
from jumpbench.tables.views.latex import to_latex
from jumpbench.tables.views.layout import blocks
from jumpbench.tables.views.panels import Panel, panels
from jumpbench.tables.views.view import View
from jumpbench.tables.views.webpage import to_html

FORMATS = "table.{json,md,tex,html,csv}, runs.csv"


def write_all(
    folder: Path, view: View, content: Mapping[str, Any], figures: Sequence[Path]
) -> None:
    """Write the table in all formats; nothing is rounded in json and csv."""
    write_atomic(folder / "table.json", to_json(content))
    write_atomic(folder / "table.csv", to_csv(content["cells"]))
    write_atomic(folder / "runs.csv", runs_csv(content))
    write_atomic(folder / "table.md", _with_origin(view))
    write_atomic(folder / "table.tex", to_latex(view))
    write_atomic(folder / "table.html", to_html(view, figures))


def _with_origin(view: View) -> str:
    return f"{to_markdown(view)}\n{as_markdown(wording.made_by(view))}.\n"


def to_json(content: Any) -> str:
    """Strict json (no NaN), as a file has it."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(cells: Sequence[Mapping[str, Any]]) -> str:
    """One line a cell; per-seed values are in ``runs.csv``."""
    names = [name for name in cells[0] if name not in ("run_ids", "values")] if cells else []
    rows = ({**cell, "run_ids": " ".join(cell["run_ids"])} for cell in cells)
    return _csv([*names, "run_ids"], rows)


def runs_csv(content: Mapping[str, Any]) -> str:
    """Tidy: one line a number that a run measured."""
    place = ("row", "column", "metric")
    head = {"table": content["table"], "scale": content["scale"]}
    rows = (
        {**head, **{key: cell[key] for key in place}, **value}
        for cell in content["cells"]
        for value in cell["values"]
    )
    return _csv(["table", "scale", *place, "seed", "value", "run"], rows)


def _csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


_HTML_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def as_markdown(text: str) -> str:
    """Text on one line of Markdown, a cell of a table too, without tags."""
    return _HTML_TAG.sub("&lt;", one_line(text).replace("|", "\\|"))


MARKDOWN_COLUMNS = 8
"""Columns of numbers side by side."""


def to_markdown(view: View, level: int = 3, pictures: str = "") -> str:
    """Claims and pictures first, then the numbers, notes folded."""
    lines = [f"{'#' * level} {as_markdown(view.heading)}", ""]
    for line in wording.banner(view):
        lines += [as_markdown(line), ""]
    lines += [f"{wording.counts(view.cells, view.table)}.{wording.legend(view)}", ""]
    lines += [claims_in_markdown(view)] if view.claims else []
    lines += [pictures.rstrip(), ""] if pictures else []
    for panel in panels(blocks(view), lambda block: len(block.columns), MARKDOWN_COLUMNS):
        heads = _heads(panel)
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for row in panel.rows:
            cells = [as_markdown(t.line) for texts in panel.texts(row) for t in texts]
            lines.append(f"| {as_markdown(row)} | {' | '.join(cells)} |")
        if panel.perfect:
            numbers = [number for group in panel.perfect for number in group]
            lines.append(f"| *{panel.perfect_label}* | {' | '.join(numbers)} |")
        lines.append("")
    if idle := unfinished.unrun(view):
        command = unfinished.rest_command(view)
        lines += [f"{as_markdown(idle)} {unfinished.THE_REST} `{command}`", ""]
    if notes := wording.notes(view):
        lines += ["<details><summary>Notes</summary>", ""]
        lines += [*(f"- {as_markdown(note)}" for note in notes), "", "</details>"]
    return "\n".join(lines).rstrip() + "\n"


def _heads(panel: Panel) -> list[str]:
    """One metric stands above the rows; several each above the first of their columns."""
    titles = [as_markdown(wording.title(block.metric)) for block in panel.blocks]
    columns = [list(map(as_markdown, block.columns)) for block in panel.blocks]
    if len(titles) == 1:
        return [*titles, *columns[0]]
    for title, names in zip(titles, columns, strict=True):
        names[0] = f"{title}<br>{names[0]}"
    return ["", *(name for names in columns for name in names)]


def claims_in_markdown(view: View) -> str:
    """A list of the claims, each with its state and how it was decided."""
    text = ""
    for claim in view.claims:
        words = f" ({claimwords.claim_words(claim)})" if claimwords.claim_words(claim) else ""
        text += f"- **{claimwords.claim_head(claim)}**: {as_markdown(claim['text'] + words)}\n"
    return text
