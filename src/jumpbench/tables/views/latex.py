"""A table in the layout of a paper: metrics as groups of columns, caption, best numbers in bold."""

import re

from jumpbench.names import one_line
from jumpbench.tables.views import unfinished, wording
from jumpbench.tables.views.layout import Block, Text, blocks
from jumpbench.tables.views.panels import Panel, panels
from jumpbench.tables.views.view import View

LETTERS = 100
"""How wide a panel may be in letters: in a column of 345 points it is set at no less than half of
its size."""

_MATH = {
    "≈": r"\approx", "▲": r"\blacktriangle", "▼": r"\blacktriangledown", "±": r"\pm",
    "↓": r"\downarrow", "↑": r"\uparrow", "→": r"\rightarrow", "×": r"\times", "≤": r"\leq",
    "≥": r"\geq", "∞": r"\infty", "·": r"\cdot", "√": r"\surd", "∂": r"\partial", "−": "-",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon",
    "η": r"\eta", "λ": r"\lambda", "μ": r"\mu", "ξ": r"\xi", "π": r"\pi", "ρ": r"\rho",
    "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "χ": r"\chi", "ψ": r"\psi", "ω": r"\omega",
    "Δ": r"\Delta", "Σ": r"\Sigma", "Φ": r"\Phi", "²": "^2", "³": "^3", "₀": "_0", "₁": "_1",
    "₂": "_2", "<": "<", ">": ">", "|": "|",
}  # fmt: skip
_TEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"–": "--", "—": "---", "“": "``", "”": "''", "‘": "`", "’": "'", "…": r"\ldots{}"}
    | {letter: f"${words}$" for letter, words in _MATH.items()}
)


def to_latex(view: View) -> str:
    """Floats that stand in any document with booktabs, graphicx and amssymb.

    Wide tables continue in further floats; what is still too wide is set smaller, so that no box
    is overfull.
    """
    said = [f"{view.table.id}, {view.scale_name} scale: measured (published)", view.title]
    said += [*wording.banner(view), wording.made_by(view), *wording.notes(view)]
    if line := unfinished.unrun(view):
        said += [f"{line} {unfinished.THE_REST}", unfinished.rest_command(view)]
    said += ["needs: \\usepackage{booktabs,graphicx,amssymb}"]
    lines = [f"% {one_line(line)}" for line in said]  # what follows an end of line is obeyed
    for i, panel in enumerate(_panels(view)):
        lines += ["", r"\begin{table}[t]", r"\centering", r"\footnotesize"]
        if i == 0:
            label = re.sub(r"[^A-Za-z0-9.+-]+", "-", f"{view.table.id}-{view.scale_name}")
            lines += [rf"\caption{{{_caption(view)}}}", rf"\label{{tab:{label}}}"]
        else:
            lines += [r"\addtocounter{table}{-1}", r"\caption{(continued)}"]
        lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
        lines += [*_tabular(panel), "}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _caption(view: View) -> str:
    published = " Published numbers are in brackets." if view.beside else ""
    best = " The best of each column is bold."
    words = [f"{view.heading}.", view.about, *wording.banner(view)]
    words += [f"{wording.counts(view.cells, view.table)}.{published}{best}{wording.legend(view)}"]
    return _tex(" ".join(words))


def _letters(block: Block) -> int:
    """About how many letters wide a block is."""
    return sum(
        max(len(name), *(len(_line(texts[i])) for _, texts in block.rows)) + 2
        for i, name in enumerate(block.columns)
    )


def _panels(view: View) -> list[Panel]:
    whole = blocks(view)
    names = max((len(row) for block in whole for row, _ in block.rows), default=0)
    return panels(whole, _letters, LETTERS - names)


def _tabular(panel: Panel) -> list[str]:
    n = sum(len(block.columns) for block in panel.blocks)
    heads, rules, at = [], [], 2
    for block in panel.blocks:
        width = len(block.columns)
        heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(wording.title(block.metric))}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    names = [_tex(name) for block in panel.blocks for name in block.columns]
    lines = [rf"\begin{{tabular}}{{l{'c' * n}}}", r"\toprule", f" & {' & '.join(heads)} \\\\"]
    lines += ["".join(rules), f" & {' & '.join(names)} \\\\", r"\midrule"]
    for row in panel.rows:
        cells = [_cell(text) for texts in panel.texts(row) for text in texts]
        lines.append(f"{_tex(row)} & {' & '.join(cells)} \\\\")
    if panel.perfect:
        perfect = [_tex(number) for numbers in panel.perfect for number in numbers]
        lines += [r"\midrule", f"{_tex(panel.perfect_label)} & {' & '.join(perfect)} \\\\"]
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _line(text: Text) -> str:
    return text.line.replace("(paper ", "(")


def _cell(text: Text) -> str:
    if not text.best:
        return _tex(_line(text))
    rest = _tex(_line(text).removeprefix(text.measured))
    return rf"\textbf{{{_tex(text.measured)}}}{rest}"


def _tex(text: str) -> str:
    """Text as LaTeX sets it, on one line; a letter that it does not have is a question mark."""
    known = "".join(c if ord(c) < 0x180 or ord(c) in _TEX else "?" for c in one_line(text))
    return known.translate(_TEX)
