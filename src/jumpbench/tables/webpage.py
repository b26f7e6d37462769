"""A table as a web page that stands alone."""

import html
from collections.abc import Sequence
from pathlib import Path

from jumpbench.tables.layout import (
    HOLDS,
    Block,
    Text,
    View,
    banner,
    blocks,
    claim_words,
    counts,
    legend,
    made_by,
    notes,
    title,
)

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;
color:#1c2430}h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.05rem;margin:1.8rem 0 .4rem}
p.about{color:#56616f;margin-top:0}p.banner{border-left:4px solid #c98a14;padding:.3rem .8rem;
background:#fdf6e7;margin:.4rem 0}table{border-collapse:collapse}
th,td{padding:.35rem .8rem;text-align:right;border-bottom:1px solid #e3e7ec;white-space:nowrap}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:#fff;
white-space:normal;min-width:8rem}thead th{border-bottom:2px solid #8b97a5}
td small{color:#6b7684;display:block}td.match b{color:#14743c}td.better b{color:#0b5fa5}
td.worse b{color:#a8420c}td.failed,td.missing,td.data-missing,td.partial{color:#8b97a5;
font-style:italic}tr.perfect td{color:#6b7684;font-style:italic}
li.holds::marker{content:"✔ ";color:#14743c}li.fails::marker{content:"✘ ";color:#a8420c}
li.open::marker{content:"○ ";color:#8b97a5}li small{color:#6b7684;display:block}
img{max-width:100%}footer{color:#6b7684;font-size:.85rem;margin-top:2rem;
border-top:1px solid #e3e7ec;padding-top:.6rem}.wide{overflow-x:auto}
"""


def to_html(view: View, figures: Sequence[Path]) -> str:
    """A page that stands alone; figures are linked beside it."""
    e = html.escape
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{e(view.title)}</title><style>{_STYLE}</style>",
        f"<h1>{e(view.title)}</h1><p class=about>{e(view.about)}</p>",
        *(f"<p class=banner>{e(line)}</p>" for line in banner(view)),
        f"<p>{e(view.scale_name)} scale; {e(counts(view.cells))}.{e(legend(view))}</p>",
        *map(_block, blocks(view)),
    ]
    if view.claims:
        parts.append("<h2>The paper's claims</h2><ul>")
        parts += [
            f'<li class="{HOLDS[c["holds"]]}">{e(c["text"])}<small>{HOLDS[c["holds"]]}'
            f"{e(': ' + claim_words(c) if claim_words(c) else '')}</small></li>"
            for c in view.claims
        ]
        parts.append("</ul>")
    for path in figures:
        parts.append(
            f'<h2>{e(path.stem)}</h2><img src="figures/{e(path.name)}" alt="{e(path.stem)}">'
        )
    parts.append("<h2>Notes</h2><ul>")
    parts += [f"<li>{e(note)}</li>" for note in notes(view)]
    collected = e(str(view.provenance.get("collected", "")))
    parts.append(
        f"</ul><footer>{e(view.table.id)}. {e(made_by(view.provenance))}. "
        f"Collected {collected}.</footer></html>"
    )
    return "\n".join(parts)


def _block(block: Block) -> str:
    def cell(text: Text) -> str:
        kind = {"≈": "match", "▲": "better", "▼": "worse"}.get(text.mark, text.status)
        paper = f"<small>paper {html.escape(text.paper)}</small>" if text.paper else ""
        return f'<td class="{kind}">{html.escape(text.measured)} <b>{text.mark}</b>{paper}</td>'

    head = "".join(f"<th>{html.escape(name)}</th>" for name in block.columns)
    rows = "".join(
        f"<tr><td>{html.escape(row)}</td>{''.join(map(cell, texts))}</tr>"
        for row, texts in block.rows
    )
    if block.perfect:
        perfect = "".join(f"<td>{number}</td>" for number in block.perfect)
        rows += f'<tr class="perfect"><td>{block.perfect_label}</td>{perfect}</tr>'
    return (
        f"<h2>{html.escape(title(block.metric))}</h2><div class=wide><table><thead><tr><th></th>"
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
