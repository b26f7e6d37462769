"""Break-even: from how many effective samples on training costs less than the best chain.

A sampler at one budget has an error e, its setup (training, or burn-in or pilot) of T seconds, and
gives r effective samples a second afterwards, so that n effective samples cost

    C(n) = T + n / r  seconds.

At one seed, a column of the metric looks at the budgets up to its own of one problem. Errors may be
several (of the energy's law and of the modes' weights); for each, f is what exact draws score, as
many as the learned sampler's, and delta = 2 max(s, c f) is the tolerance: s is the standard
deviation between seeds of the chain with the least mean error, c f that of exact draws (a table
file states c of each problem, ``spreads``), which are then above f + delta in at most 5 % of cases.
The learned sampler's own spread is none, or unreliable training would pay. The learned sampler

- never pays if one of its errors e is above the chains' lowest: e > max(f, min e_chain) + delta;
- is otherwise held against every chain at every budget whose errors are at most
  max(f, e) + delta, the chains of equal error (their cheapest budget decides): it costs less from

      n = max(0, T - T_chain) / (1 / r_chain - 1 / r)

  on if r > r_chain, and never if r <= r_chain (but from 0 on where r = r_chain and T < T_chain).
  r_chain is the largest of the chain's budgets: a longer one keeps states further apart, which
  hides how fast it is. The largest n counts; it is 0 if no chain has such errors.

The break-even is the least n over the learned sampler's budgets, so that a shorter one may supply
it. A cell has it for every seed, as a
power of ten from 0 (the first sample) to 12 (never); its words are the median over seeds and, as an
interval, the least and the largest. With one seed s is 0 and there is no interval. A claim about it
counts seeds, since "never" is not a measurement that a mean could take in; three are too few.

Chains are the rows that have all of these metrics and not this one. Where one of them was not run,
failed or lacks a seed, the cell is partial.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, median_high, stdev

from jumpbench.tables.judging.cells import Cell, Value, by_place, uncertainty
from jumpbench.tables.language.metric import BreakEven, Metric
from jumpbench.tables.language.types import Column, Table

NEVER = 12.0
"""The power of ten that says never."""


@dataclass(frozen=True)
class Budget:
    """A sampler at one budget and seed; ``setup`` in seconds, ``rate`` per second."""

    errors: Sequence[float]
    setup: float
    rate: float


@dataclass(frozen=True)
class Limit:
    """Of one error: what exact draws score, and the tolerance."""

    floor: float = 0.0
    delta: float = 0.0

    def above(self, error: float) -> float:
        """The largest error that counts as equal."""
        return max(self.floor, error) + self.delta


def break_even(
    learned: Iterable[Budget], chains: Sequence[Budget], limits: Sequence[Limit]
) -> float:
    """Effective samples, see above; infinite for never. ``limits``: one of each error.

    Raises:
        ValueError: there is no chain, or not one limit an error.
    """
    least = [min(errors) for errors in zip(*(chain.errors for chain in chains), strict=True)]
    found = math.inf
    for one in learned:
        if not _within(one.errors, least, limits):
            continue
        equal = [chain for chain in chains if _within(chain.errors, one.errors, limits)]
        found = min(found, max((_cheaper_from(one, chain) for chain in equal), default=0.0))
    return found


def _within(errors: Sequence[float], others: Sequence[float], limits: Sequence[Limit]) -> bool:
    every = zip(errors, others, limits, strict=True)
    return all(error <= limit.above(other) for error, other, limit in every)


def _cheaper_from(one: Budget, chain: Budget) -> float:
    gained = 1 / chain.rate - 1 / one.rate  # seconds a sample
    late = one.setup - chain.setup
    if gained > 0:
        return max(0.0, late) / gained
    return 0.0 if gained == 0 and late < 0 else math.inf


def with_break_even(table: Table, cells: Sequence[Cell]) -> list[Cell]:
    """The cells, those of break-even metrics filled from the others."""
    derived = [m for m in table.metrics.values() if m.break_even is not None]
    if not derived:
        return list(cells)
    places = by_place(list(cells))
    columns = {column.name: column for column in table.columns}
    filled = []
    for cell in cells:
        metric = next((m for m in derived if m.name == cell.metric), None)
        if metric is not None and cell.values:
            cell = _filled(table, metric, cell, columns, places)
        filled.append(cell)
    return filled


Places = Mapping[tuple[str, str, str], Cell]


def _filled(
    table: Table, metric: Metric, cell: Cell, columns: Mapping[str, Column], places: Places
) -> Cell:
    """A cell that was read from its ``source`` with the break-even of each seed instead."""
    here = columns[cell.column]
    upto = [
        c.name for c in table.columns
        if c.vars.get("problem") == here.vars.get("problem")
        and float(c.vars.get("seconds", math.inf)) <= float(here.vars.get("seconds", 0.0))
    ]  # fmt: skip
    of = metric.break_even
    assert of is not None
    needed = {*of.names}
    has = {
        row.name: {*(table.metrics if row.metrics is None else row.metrics)} for row in table.rows
    }
    chains = [row for row, names in has.items() if needed <= names and metric.name not in names]
    at = [(r, c) for r in chains for c in upto]
    spreads = of.spreads_of(here.vars.get("problem"))
    limits = [
        _limit(places, cell, error, spread, at)
        for error, spread in zip(of.errors, spreads, strict=True)
    ]
    values = []
    for value in cell.values:
        own = [b for c in upto if (b := _budget(places, of, cell.row, c, value.seed))]
        theirs = [b for row in chains for b in _chain(places, of, row, upto, value.seed)]
        if own and theirs:
            n = break_even(own, theirs, limits)
            power = min(max(math.log10(max(n, 1.0)), 0.0), NEVER)
            values.append(Value(value.seed, power, value.run))
    if not values:
        why = "no chain has a number to compare it with"
        return replace(cell, values=[], measured=None, std=None, status="missing", note=why)
    gap = _gap(places, at, of.names)
    powers = [value.value for value in values]
    _, standard_error, df = uncertainty(metric, powers, cell.n_samples, None)
    return replace(
        cell, values=values, measured=fmean(powers), n_seeds=len(values),
        std=stdev(powers) if len(powers) > 1 else None, uncertainty=standard_error, df=df,
        status=cell.status if len(values) == len(cell.values) and not gap else "partial",
        note=gap or cell.note,
    )  # fmt: skip


def _gap(places: Places, chains: Iterable[tuple[str, str]], names: Iterable[str]) -> str:
    """Which chain lacks a number or seeds, since it failed or was not run; empty if none. Without
    it a trained sampler would seem to pay the earlier."""
    for (row, column), name in product(chains, names):
        cell = places.get((row, column, name))
        if cell is not None and cell.asked and cell.status != "measured":
            return f"{row} ({column}), which it is compared with, is {cell.status}"
    return ""


def _limit(
    places: Places, cell: Cell, error: str, spread: float, chains: Iterable[tuple[str, str]]
) -> Limit:
    """``spread``: of exact draws, over the floor. ``chains``: their rows and columns."""
    own = places.get((cell.row, cell.column, error))
    floor = (own.perfect if own else None) or 0.0
    theirs = [c for at in chains if (c := places.get((*at, error))) and c.values]
    best = min(theirs, key=lambda c: fmean(v.value for v in c.values), default=None)
    between = stdev(v.value for v in best.values) if best and len(best.values) > 1 else 0.0
    return Limit(floor, 2 * max(between, spread * floor))


def _chain(
    places: Places, of: BreakEven, row: str, columns: Iterable[str], seed: int
) -> list[Budget]:
    """Its budgets, each with the largest rate of them."""
    found = [b for column in columns if (b := _budget(places, of, row, column, seed))]
    rate = max((b.rate for b in found), default=0.0)
    return [replace(b, rate=rate) for b in found]


def _budget(places: Places, of: BreakEven, row: str, column: str, seed: int) -> Budget | None:
    """One run's numbers; None where one is missing, or no sample counts."""
    numbers = []
    for metric in (*of.errors, of.setup, of.rate):
        cell = places.get((row, column, metric))
        numbers += [v.value for v in cell.values if v.seed == seed][:1] if cell else []
    if len(numbers) < len(of.errors) + 2 or numbers[-1] <= 0:
        return None
    return Budget(tuple(numbers[:-2]), numbers[-2], numbers[-1])


def in_words(powers: Sequence[float]) -> str:
    """The median over seeds, and the least and largest: ``2e+04 (9e+03 to never)``."""
    median, low, high = (_number(of(powers)) for of in (median_high, min, max))
    return median if low == high else f"{median} ({low} to {high})"


def _number(power: float) -> str:
    return "never" if power >= NEVER else f"{10**power:.0f}" if power < 3 else f"{10**power:.1e}"
