"""A table in every format a reader wants: json, Markdown, LaTeX, HTML, csv."""

import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.files import write_atomic
from jumpbench.tables.collect import Cell
from jumpbench.tables.layout import Block, Shown, blocks, counts, legend, notes, title
from jumpbench.tables.spec import Table
from jumpbench.tables.store import write_json

HOLDS = {True: "holds", False: "does not hold", None: "open"}


def write_all(
    folder: Path,
    table: Table,
    record: dict[str, Any],
    cells: Sequence[Cell],
    figures: Sequence[Path],
) -> None:
    """Write ``table.{json,md,tex,html,csv}``; nothing is rounded in json and csv."""
    scale = record["scale"]
    write_json(folder / "table.json", record)
    write_atomic(folder / "table.csv", to_csv(record["cells"]))
    claims = record["claims"]
    write_atomic(folder / "table.md", to_markdown(table, scale, cells, claims))
    write_atomic(folder / "table.tex", to_latex(table, scale, cells))
    write_atomic(folder / "table.html", to_html(table, record, cells, figures))


def to_csv(cells: Sequence[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    names = [name for name in cells[0] if name != "run_ids"] if cells else []
    writer = csv.DictWriter(buffer, [*names, "run_ids"], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        writer.writerow({**cell, "run_ids": " ".join(cell["run_ids"])})
    return buffer.getvalue()


def to_markdown(
    table: Table, scale: str, cells: Sequence[Cell], claims: Sequence[dict[str, Any]]
) -> str:
    heading = f"### {table.title} ({scale} scale)"
    lines = [heading, "", f"{counts(cells)}.{legend(table, scale)}", ""]
    for block in blocks(table, cells):
        lines.append("| " + " | ".join([title(block.metric), *block.columns]) + " |")
        lines.append("|---" * (len(block.columns) + 1) + "|")
        lines += [
            f"| {row} | " + " | ".join(s.line for s in shown) + " |" for row, shown in block.rows
        ]
        if block.floors:
            lines.append(f"| *{block.floor_label}* | " + " | ".join(block.floors) + " |")
        lines.append("")
    for claim in claims:
        lines.append(f"- **{HOLDS[claim['holds']]}**: {claim['text']} ({claim['detail']})")
    lines += [""] if claims else []
    lines += [f"- {note}" for note in notes(table, scale, cells)]
    return "\n".join(lines).rstrip() + "\n"


_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"≈": r"$\approx$", "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "±": r"$\pm$"}
    | {"↓": r"$\downarrow$", "↑": r"$\uparrow$", "–": "--", "β": r"$\beta$", "×": r"$\times$"}
)  # fmt: skip


def to_latex(table: Table, scale: str, cells: Sequence[Cell]) -> str:
    """One booktabs tabular per metric (needs the packages booktabs and amssymb)."""
    lines = [f"% {table.id}, {scale} scale: measured (published)"]
    for block in blocks(table, cells):
        lines += [rf"\begin{{tabular}}{{l{'c' * len(block.columns)}}}", r"\toprule"]
        head = [title(block.metric), *block.columns]
        lines += [" & ".join(x.translate(_TEX) for x in head) + r" \\", r"\midrule"]
        for row, shown in block.rows:
            parts = [row, *(s.line.replace("(paper ", "(") for s in shown)]
            lines.append(" & ".join(x.translate(_TEX) for x in parts) + r" \\")
        if block.floors:
            lines.append(" & ".join([block.floor_label, *block.floors]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;
color:#1c2430}h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.05rem;margin:1.8rem 0 .4rem}
p.about{color:#56616f;margin-top:0}table{border-collapse:collapse;min-width:40rem}
th,td{padding:.35rem .8rem;text-align:right;border-bottom:1px solid #e3e7ec}
th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #8b97a5}
td small{color:#6b7684;display:block}td.match b{color:#14743c}td.better b{color:#0b5fa5}
td.worse b{color:#a8420c}td.failed,td.missing,td.data-missing{color:#8b97a5;font-style:italic}
tr.floor td{color:#6b7684;font-style:italic}li.true::marker{content:"✔ ";color:#14743c}
li.false::marker{content:"✘ ";color:#a8420c}li.null::marker{content:"○ ";color:#8b97a5}
li small{color:#6b7684;display:block}img{max-width:100%}footer{color:#6b7684;font-size:.85rem;
margin-top:2rem;border-top:1px solid #e3e7ec;padding-top:.6rem}.wide{overflow-x:auto}
"""


def to_html(
    table: Table, record: dict[str, Any], cells: Sequence[Cell], figures: Sequence[Path]
) -> str:
    """A page that stands alone; figures are linked beside it."""
    e, scale = html.escape, record["scale"]
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{e(table.title)}</title><style>{_STYLE}</style>",
        f"<h1>{e(table.title)}</h1><p class=about>{e(table.about)}<br>{scale} scale; "
        f"{e(counts(cells))}.{e(legend(table, scale))}</p>",
        *(_html_block(block) for block in blocks(table, cells)),
    ]
    if record["claims"]:
        parts.append("<h2>The paper's claims, as measured</h2><ul>")
        parts += [
            f'<li class="{str(c["holds"]).lower().replace("none", "null")}">{e(c["text"])}'
            f"<small>{e(c['detail'])}</small></li>"
            for c in record["claims"]
        ]
        parts.append("</ul>")
    for path in figures:
        parts.append(
            f'<h2>{e(path.stem)}</h2><img src="figures/{e(path.name)}" alt="{e(path.stem)}">'
        )
    parts.append("<h2>Notes</h2><ul>")
    parts += [f"<li>{e(note)}</li>" for note in notes(table, scale, cells)]
    where = record["provenance"]
    hardware = "; ".join(where["hardware"]) or "no run yet"
    parts.append(
        f"</ul><footer>{e(table.id)}, commit {e(str(where['commit'])[:10])}"
        f"{' with local changes' if where['dirty'] else ''}; {e(hardware)}; "
        f"{e(where['collected'])}</footer></html>"
    )
    return "\n".join(parts)


def _html_block(block: Block) -> str:
    def cell(shown: Shown) -> str:
        kind = {"≈": "match", "▲": "better", "▼": "worse"}.get(shown.mark, shown.status)
        paper = f"<small>paper {html.escape(shown.paper)}</small>" if shown.paper else ""
        return f'<td class="{kind}">{html.escape(shown.measured)} <b>{shown.mark}</b>{paper}</td>'

    head = "".join(f"<th>{html.escape(name)}</th>" for name in block.columns)
    rows = "".join(
        f"<tr><td>{html.escape(row)}</td>{''.join(map(cell, shown))}</tr>"
        for row, shown in block.rows
    )
    if block.floors:
        floors = "".join(f"<td>{floor}</td>" for floor in block.floors)
        rows += f'<tr class="floor"><td>{block.floor_label}</td>{floors}</tr>'
    return (
        f"<h2>{html.escape(title(block.metric))}</h2><div class=wide><table><thead><tr><th></th>"
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
