"""Comparing measured numbers: contrasts, their error, and the level that several of them share.

Every check of a claim comes down to contrasts: a weighted sum of cells plus a constant that the
paper says is positive. Its error is that of independent cells; where several cells come from the
same runs (two decoders of one model, two stages of one training), that of the per-run sums, so
that what these runs have in common cancels. Degrees of freedom follow Welch and Satterthwaite.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev

ROUNDING = 1e-12
"""Below this a difference is what float64 makes of none, and so is a number beside 1."""


def significant(value: float, digits: int = 4) -> str:
    """So many significant digits; what is rounding error is zero."""
    return f"{0.0 if abs(value) < ROUNDING else value:.{digits}g}"


@dataclass(frozen=True)
class Estimate:
    """A number with what is known of its error.

    ``error`` is the standard error of ``value`` (None: unknown; 0: exact) with ``df`` degrees of
    freedom (infinite for a stated spread), ``by_run`` the values whose mean it is, ``resolution``
    the rounding of the published number beside it, below which no spread is believed. ``value`` is
    None where there is no whole number yet, and ``lacking`` says why.
    """

    value: float | None
    error: float | None = None
    df: float = math.inf
    by_run: Mapping[str, float] = field(default_factory=dict)
    resolution: float = 0.0
    lacking: str = ""


@dataclass(frozen=True)
class Contrast:
    """``sum of weight * estimate + constant``, said to be positive."""

    terms: tuple[tuple[float, Estimate], ...]
    constant: float
    words: str
    """What is compared, for a reader."""

    @property
    def lacking(self) -> str:
        """Which number is missing, empty if none is."""
        return next((e.lacking or "no number" for _, e in self.terms if e.value is None), "")

    @property
    def gap(self) -> float:
        return sum(w * e.value for w, e in self.terms if e.value is not None) + self.constant

    @property
    def is_tie(self) -> bool:
        size = sum(abs(w * e.value) for w, e in self.terms if e.value is not None)
        return abs(self.gap) <= ROUNDING * max(1.0, size + abs(self.constant))

    def error(self) -> tuple[float | None, float]:
        """Standard error of the gap (None if some part is unknown) and degrees of freedom."""
        groups: dict[frozenset[str], list[tuple[float, Estimate]]] = {}
        for number, (weight, estimate) in enumerate(self.terms):
            runs = frozenset(estimate.by_run) or frozenset([f"number {number}"])
            groups.setdefault(runs, []).append((weight, estimate))
        parts = [part for group in groups.values() for part in _errors(group)]
        if any(error is None for error, _ in parts):
            return None, math.inf
        variances = [(error**2, df) for error, df in parts if error]
        total = sum(v for v, _ in variances)
        if not total:
            return 0.0, math.inf
        spent = sum(v**2 / df for v, df in variances)
        return math.sqrt(total), total**2 / spent if spent else math.inf

    def t(self) -> float | None:
        """Gap over its error; None if nothing can be said."""
        if self.lacking or self.is_tie:
            return None
        error, _ = self.error()
        if error is None:
            return None
        return self.gap / error if error else math.copysign(math.inf, self.gap)

    def p_value(self) -> float | None:
        """Two-sided probability of a gap as large as this one if there were none."""
        from scipy import stats

        if (t := self.t()) is None:
            return None
        return float(2 * stats.t.sf(abs(t), self.error()[1]))


def _errors(group: Sequence[tuple[float, Estimate]]) -> list[tuple[float | None, float]]:
    """(error, df) of the terms that rest on one set of runs: paired, or one by one."""
    alone = [(None if e.error is None else abs(w) * e.error, e.df) for w, e in group]
    runs = list(group[0][1].by_run)
    if len(group) < 2 or len(runs) < 2 or not any(error != 0 for error, _ in alone):
        return alone
    sums = [sum(w * e.by_run[run] for w, e in group) for run in runs]
    spread = max(stdev(sums), math.hypot(*(w * e.resolution for w, e in group)))
    if not spread:  # equal in every run, and nothing says how finely it could have differed
        return alone
    return [(spread / math.sqrt(len(runs)), len(runs) - 1)]


def holm(p_values: Sequence[float | None], level: float) -> list[bool]:
    """Which of a family of tests are decided, the whole family at ``level`` (Holm, 1979).

    The smallest p-value is held against level / m, the next one against level / (m - 1), and so on
    up to the first that fails. Tests without a p-value count as members and are never decided.
    """
    decided = [False] * len(p_values)
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    for rank, (p, i) in enumerate(known):
        if p > level / (len(p_values) - rank):
            break
        decided[i] = True
    return decided


def two_sided_level(sigmas: float) -> float:
    """Probability that a normal number lies farther than ``sigmas`` deviations from its mean."""
    from scipy import stats

    return float(2 * stats.norm.sf(sigmas))


def quantile(sigmas: float, df: float) -> float:
    """Where Student's t has the tail that a normal number has at ``sigmas``."""
    from scipy import stats

    return float(stats.t.isf(stats.norm.sf(sigmas), df)) if math.isfinite(df) else sigmas


ENOUGH_SEEDS = 5


def seed_spread(
    values: Sequence[float], stated: float | None, resolution: float = 0.0
) -> tuple[float | None, float]:
    """Standard deviation between seeds that is believed, and its degrees of freedom.

    From five seeds on the measured one; before that at least the stated one (the deviation of
    three seeds is below a third of the true one in one case out of ten). Never zero: five equal
    numbers have the stated spread; and never below ``resolution``, the rounding of the published
    number. None if nothing is known.
    """
    measured = stdev(values) if len(values) > 1 else 0.0
    spread, df = measured, float(len(values) - 1)
    if stated and (not measured or (len(values) < ENOUGH_SEEDS and stated >= measured)):
        spread, df = stated, math.inf
    if not spread and len(values) < ENOUGH_SEEDS:
        return None, math.inf
    if spread < resolution:
        spread, df = resolution, math.inf
    return (spread, df) if spread else (None, math.inf)


def saturated_spread(
    values: Sequence[float], bounds: tuple[float | None, float | None] | None, samples: int | None
) -> tuple[float, float] | None:
    """(standard error, df) of a mean that stands exactly on a bound of its metric.

    Seeds that all score 100 percent have no spread to measure and none to assume. With N samples
    and no miss, misses at a rate p would be overlooked with probability exp(-N p); Student's t with
    two degrees of freedom and error range / N has at least this tail from four errors on, before
    which nothing is decided. None where the values are not on a bound, or the bounds or the samples
    are not known.
    """
    if bounds is None or not samples or len(set(values)) > 1:
        return None
    low, high = bounds
    if low is None or high is None or values[0] not in (low, high):
        return None
    return (high - low) / (samples * len(values)), 2.0
