import dataclasses
import shutil
import subprocess

import pytest

from jumpbench.tables.commands.recorded import read_record, recorded_scales
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.views.render import to_latex
from jumpbench.tables.views.view import View


def test_latex_has_metrics_as_groups_and_breaks_what_is_too_wide(filled):
    table, cells = filled
    metrics = {name: Metric(name, label=name, better="lower") for name in ("TV", "Hellinger")}
    table = dataclasses.replace(table, metrics=metrics)
    both = [dataclasses.replace(cells[0], metric=m, column=c) for m in metrics
            for c in ("small n", "large n")]  # fmt: skip
    text = to_latex(View(table, "paper", both))
    assert r" & \multicolumn{2}{c}{TV $\downarrow$} & \multicolumn{2}{c}{Hellinger" in text
    assert (
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in text and r"\caption{Toy (paper scale)." in text
    )
    assert text.count(r"\begin{table}") == 1
    columns = tuple(
        dataclasses.replace(table.columns[0], name=f"a long column {i}") for i in range(9)
    )
    table = dataclasses.replace(table, columns=columns)
    wide = [dataclasses.replace(cells[0], metric="TV", column=c.name) for c in columns]
    text = to_latex(View(table, "paper", wide))
    assert text.count(r"\begin{table}") == text.count("(continued)") + 1 > 2
    assert all(text.count(column.name) == 1 for column in columns)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_of_every_record_compiles_without_overfull_boxes(tmp_path):
    records = [(t, scale) for t in available() for scale in recorded_scales(t)]
    texts = [to_latex(recorded_view(load(t), read_record(t, scale))) for t, scale in records]
    assert len(texts) >= 10
    head = r"\documentclass{article}\usepackage{booktabs,graphicx,amssymb}\begin{document}"
    body = "\n\\clearpage\n".join(texts)  # a document of floats alone has no other place for them
    (tmp_path / "all.tex").write_text("\n".join([head, body, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert "Overfull" not in log and "Missing character" not in log and "too large" not in log
