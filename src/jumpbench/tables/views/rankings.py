"""The matrix of ranks over tables that race samplers: problems by samplers, in words and drawn."""

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.ranks import Ranking, ranking
from jumpbench.tables.views.races import problems, race_entries
from jumpbench.tables.views.render import as_markdown
from jumpbench.tables.views.view import View

LIKE_FLOORS = 1.5
"""Floors of rows that are further apart than so many times are mentioned."""


@dataclass(frozen=True)
class Matrix:
    """Ranks by one error metric."""

    title: str
    ranking: Ranking
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    few_seeds: bool = False  # a number of one seed is among them
    floors: float = 1.0  # the largest ratio of what exact draws score, of two rows of a problem
    timed: bool = False  # problems have several budgets
    failed: bool = False  # a run of a sampler failed

    @property
    def words(self) -> str:
        """What was tested, and what cannot be told apart from the best."""
        of, n = self.ranking, len(self.ranking.ranks)
        text = f"Ranks by {self.title}"
        text += " at the longest budget that most samplers have" * self.timed
        text += f", {n} problems" + ", some of one seed" * self.few_seeds + ". "
        text += "A sampler with a failed run is the last of its problem. " * self.failed
        if self.floors > LIKE_FLOORS:
            text += "Rows have unequal numbers of samples: exact draws of the fewest would score "
            text += f"up to {self.floors:.0f} times what those of the most do. "
        if of.p is None:
            return text + "Too few problems and samplers, or too many ties, for a test."
        if of.are_some_without_mean:
            text += (
                f"The {len(of.mean)} samplers that all problems have are ranked among themselves "
            )
            text += "for the mean. "
        text += f"Friedman's test of the {len(of.mean)} samplers with all of them: chi2 = "
        text += f"{of.chi2:.1f}, p = {of.p:.2g}. "
        if math.isinf(of.critical):
            return text + "No two mean ranks can be told apart."
        best, *others = of.mean
        alike = [name for name in others if of.mean[name] - of.mean[best] <= of.critical]
        text += f"Two samplers differ where their mean ranks are more than {of.critical:.2f} apart "
        text += "(Holm over all pairs, level 0.05). "
        if not alike:
            return text + f"All others differ from the best, {best}."
        return text + f"These do not differ from the best, {best}: {', '.join(alike)}."


def matrices(views: Iterable[View]) -> list[Matrix]:
    """One for each error that tables race by, and for the others of their break-even.

    An error below that of exact draws counts as theirs. A sampler of which a run failed (as where
    training diverged) is the last of its problem. Problems of which fewer than two samplers have a
    number are left out.
    """
    found: dict[str, Matrix] = {}
    for view in views:
        for entry in race_entries(view.table)[:1]:
            for metric in _errors(view, entry["metric"]):
                for columns in problems(view.table).values():
                    _add(found, view, columns, metric, entry["spent"])
    return [replace(matrix, ranking=ranking(matrix.errors)) for matrix in found.values()]


def _errors(view: View, raced: str) -> Sequence[str]:
    """The metric of the race, and what a break-even of the table counts beside it."""
    derived = [m.break_even for m in view.table.metrics.values() if m.break_even]
    return next((of.errors for of in derived if raced in of.errors), (raced,))


def _add(
    found: dict[str, Matrix], view: View, columns: Sequence[str], metric: str, spent: str
) -> None:
    """A problem, at the longest budget that most samplers have."""
    budgets = [_competitors(view, column, metric, spent) for column in columns]
    most = max(len(cells) for cells in budgets)
    at = max(i for i, cells in enumerate(budgets) if len(cells) == most)
    if most < 2:
        return
    cells, timed = budgets[at].values(), len(columns) > 1
    title = view.table.metrics[metric].label or metric
    matrix = found.setdefault(metric, Matrix(title, ranking({})))
    perfect = [cell.perfect for cell in cells if cell.perfect]
    ratio = max(perfect) / min(perfect) if perfect else 1.0
    problem = f"{view.table.id.split('/')[1]}, {view.column_head(columns[at])}"
    by_row = {view.row_head(row): _counted(cell) for row, cell in budgets[at].items()}
    found[metric] = replace(
        matrix,
        errors={**matrix.errors, problem: by_row},
        few_seeds=matrix.few_seeds or any(c.n_seeds == 1 and not _has_failed(c) for c in cells),
        floors=max(matrix.floors, ratio),
        timed=matrix.timed or timed,
        failed=matrix.failed or any(map(_has_failed, cells)),
    )


def _counted(cell: Cell) -> float:
    if _has_failed(cell):
        return math.inf
    return max(cast(float, cell.measured), cell.perfect or 0.0)


def _has_failed(cell: Cell) -> bool:
    """Whether a run of it failed; one that was not made is another matter."""
    not_made = re.fullmatch(r"\d+ of \d+ seeds", cell.note or "")
    return cell.status == "failed" or (
        cell.status == "partial" and bool(cell.note and not not_made)
    )


def _competitors(view: View, column: str, metric: str, spent: str) -> dict[str, Cell]:
    """Whole cells and those of failed runs, of rows that spend something: exact draws do not."""
    spend = {r.name for r in view.table.rows if spent in (r.metrics or view.table.metrics)}
    return {
        cell.row: cell for cell in view.cells
        if (cell.column, cell.metric) == (column, metric) and cell.row in spend
        and (_has_failed(cell) or (cell.measured is not None and cell.status == "measured"))
    }  # fmt: skip


def lines(of: Ranking) -> list[list[str]]:
    """A table in words: the head, a line a problem, and the mean ranks."""
    names = of.samplers
    text = [["problem", *names]]
    for problem, ranks in of.ranks.items():
        text.append([problem, *(f"{ranks[n]:g}" if n in ranks else "" for n in names)])
    said = f"mean rank of {len(of.mean)}" if of.are_some_without_mean else "mean rank"
    return [*text, [said, *(f"{of.mean[n]:.1f}" if n in of.mean else "" for n in names)]]


def in_markdown(found: Iterable[Matrix]) -> str:
    """Every matrix with what can be told apart; empty if there is none."""
    text = ""
    for matrix in found:
        head, *rows, mean = [[as_markdown(word) for word in line] for line in lines(matrix.ranking)]
        text += f"{as_markdown(matrix.words)}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|\n"
        text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
        text += f"| *{mean[0]}* | {' | '.join(mean[1:])} |\n\n"
    return text


def picture(found: Sequence[Matrix]) -> bytes | None:
    """A PNG: ranks in their squares, the best sampler on the left; bars above join mean ranks that
    cannot be told apart. None if there is nothing to draw."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if not found:
        return None
    highs = [len(m.ranking.ranks) + 0.4 * len(m.ranking.alike) + 3.5 for m in found]
    wide = max(len(m.ranking.samplers) for m in found)
    figure, axes = plt.subplots(
        len(found), 1, figsize=(0.5 * wide + 3.2, 0.32 * sum(highs) + 0.6), squeeze=False,
        height_ratios=highs, layout="constrained",
    )  # fmt: skip
    for axis, matrix in zip(axes[:, 0], found, strict=True):
        _draw(axis, matrix, wide)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    plt.close(figure)
    return buffer.getvalue()


def _draw(axis: Any, matrix: Matrix, wide: int) -> None:
    of, names = matrix.ranking, matrix.ranking.samplers
    ranks = [[by_name.get(n, math.nan) for n in names] for by_name in of.ranks.values()]
    axis.imshow(ranks, cmap="viridis_r", aspect="auto", vmin=1, vmax=max(len(names), 2))
    for i, line in enumerate(ranks):
        for j, rank in enumerate(line):
            if math.isfinite(rank):
                colour = "white" if rank > 0.45 * len(names) else "black"
                axis.text(j, i, f"{rank:g}", ha="center", va="center", fontsize=7, color=colour)
    heads = [f"{n} ({of.mean[n]:.1f})" if n in of.mean else n for n in names]
    axis.set_xticks(range(len(names)), heads, rotation=40, ha="right", fontsize=7)
    axis.set_yticks(range(len(of.ranks)), [*of.ranks], fontsize=7)
    for k, group in enumerate(of.alike):
        ends = [names.index(group[0]) - 0.35, names.index(group[-1]) + 0.35]
        axis.plot(ends, [-0.9 - 0.4 * k] * 2, color="black", lw=2, clip_on=False)
    axis.set(xlim=(-0.5, wide - 0.5), ylim=(len(of.ranks) - 0.5, -0.9 - 0.4 * len(of.alike)))
    axis.spines[:].set_visible(False)
    axis.set_title(f"Ranks by {matrix.title} (mean rank)", fontsize=8, loc="left")
