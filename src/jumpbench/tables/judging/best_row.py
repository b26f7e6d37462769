"""Which row is best in one column, and how sure that is, in one sentence."""

from collections.abc import Sequence

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.comparisons import Contrast, Estimate, significant
from jumpbench.tables.judging.levels import holm, two_sided_level
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Table

MOST_NAMED = 3
"""Samplers that are named where more cannot be told apart."""


def best_row(table: Table, cells: Sequence[Cell], column: str, metric: Metric) -> str:
    """The row with the lowest number of a metric, and those that cannot be told from it.

    The best row is compared with every other one, seed by seed, by Student's t at the level of the
    table's ``sigmas``, which all comparisons share (Holm). The level is approximate: the row that
    is compared was chosen by the same numbers (of ten equal samplers at three seeds, one is told
    apart in 8 % of cases, not 5 %). Rows of which a seed has no number are left out, and named.
    """
    here = [cell for cell in cells if cell.column == column and cell.metric == metric.name]
    said = _best(table, [c for c in here if c.status == "measured"], column, metric)
    lost = [cell for cell in here if cell.status in ("partial", "failed")]
    if not lost:
        return said
    names = ", ".join(f"{c.row} ({_number(c)})" if c.values else c.row for c in lost)
    return f"{said} Left out, since a seed of theirs has no number: {names}."


def _best(table: Table, cells: Sequence[Cell], column: str, metric: Metric) -> str:
    ranked = sorted(cells, key=lambda cell: cell.measured or 0.0)
    if not ranked:
        return f"No sampler has a number of every seed at {column}."
    best, *others = ranked
    floor = "" if best.perfect is None else f", floor {significant(best.perfect, 3)}"
    if not others:
        return f"{best.row} has {_number(best)} at {column}{floor}; nothing stands beside it."
    estimates = {cell.row: cell.estimate(metric, False, cell.row) for cell in ranked}
    against = [_against(estimates[best.row], estimates[cell.row]) for cell in others]
    told = holm([each.p_value() for each in against], two_sided_level(table.sigmas))
    seeds = sorted(set.intersection(*({v.seed for v in cell.values} for cell in ranked)))
    wins = sum(best.row == _lowest(estimates, seed) for seed in seeds)
    if len(seeds) < 2:
        return (
            f"{best.row} has the lowest error at {column} ({_number(best)}{floor}), but how sure "
            "that is one seed does not tell; seeds=3 does."
        )
    n = len(seeds)
    tied = [cell for cell, apart in zip(others, told, strict=True) if not apart]
    rest = [cell for cell, apart in zip(others, told, strict=True) if apart]
    last = max((cell.measured or 0.0 for cell in tied), default=0.0)
    worse = [cell for cell in rest if (cell.measured or 0.0) > last]
    behind = f"; {worse[0].row} is next ({_number(worse[0])})" if worse else ""
    if not tied:
        return (
            f"{best.row} has the lowest error at {column} ({_number(best)}{floor}; {wins} of {n} "
            f"seeds){behind}."
        )
    same = [f"{cell.row} ({_number(cell)})" for cell in (best, *tied)]
    if len(same) > MOST_NAMED:
        same[MOST_NAMED:] = [f"{len(same) - MOST_NAMED} more (up to {significant(last, 2)})"]
    listed = f"{', '.join(same[:-1])} and {same[-1]}"
    return f"At {column}, {n} seeds cannot tell apart {listed}{floor}{behind}."


def _against(best: Estimate, other: Estimate) -> Contrast:
    return Contrast(((1.0, other), (-1.0, best)), 0.0, "")


def _lowest(estimates: dict[str, Estimate], seed: int) -> str:
    return min(estimates, key=lambda row: estimates[row].by_seed[seed])


def _number(cell: Cell) -> str:
    spread = f" ± {significant(cell.std, 2)}" if cell.std and cell.n_seeds > 1 else ""
    return f"{significant(cell.measured or 0.0, 3)}{spread}"
