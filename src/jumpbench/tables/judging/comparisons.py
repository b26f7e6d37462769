"""Comparing measured numbers: contrasts, their error, and the level that several of them share.

Every check of a claim comes down to contrasts: a weighted sum of cells plus a constant that the
paper says is positive. Runs of one seed may share random numbers (rows of one method do: common
random numbers), so cells are never taken for independent: a contrast is computed seed by seed, at
the seeds that all its cells have. Its spread is the standard deviation of these values, its error
that spread over the root of their number n, and it is decided by Student's t with n - 1 degrees of
freedom. This is right whatever the runs of a seed have in common. No spread is assumed, and one
seed decides nothing but what is exact: an error within a run says nothing of the next training.
A scale that names its replicates (test images, say) is about them alone, with the training as it
is: there one seed will do. Where all cells have a number for each of the same replicates, a
contrast is computed replicate by replicate, as by seed: an image that is hard for one row is hard
for the other. Otherwise the errors of the means over replicates are added in quadrature.

A number that jumps from one training to the next (a mode is lost, or none is) has no spread that
three of them could show: two good trainings in three say little of the next one. Such contrasts
(``by_training``) are decided by the exact sign test over their seeds, for which six must agree.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean, stdev

from jumpbench.tables.judging.spreads import ROUNDING, Samples, unseen

COMMON_SEEDS = 2
"""So many seeds must be common to the cells of a contrast before their spread says anything."""


def significant(value: float, digits: int = 4) -> str:
    """So many significant digits; what is rounding error is zero."""
    return f"{0.0 if abs(value) < ROUNDING else value:.{digits}g}"


@dataclass(frozen=True)
class Estimate:
    """A number with what is known of its error.

    ``by_seed`` are the values of single runs, whose mean it is. ``error`` is the standard error
    that is known without comparing seeds, with ``df`` degrees of freedom: 0 of an exact number,
    that of the runs' samples where they give one, None otherwise. ``sampling`` is the deviation
    that the samples of a run alone give its number, where that is known: beside a constant, no
    smaller one between seeds is believed. ``value`` is None where there is no whole number yet, and
    ``lacking`` says why. ``samples`` is what is known of the spread over the replicates that its
    scale names; nothing where it names none. ``by_training``: the number jumps between trainings,
    which are counted. ``rounding`` is half a unit of the last digit of a printed number.
    """

    value: float | None
    error: float | None = None
    df: float = math.inf
    by_seed: Mapping[int, float] = field(default_factory=dict)
    sampling: float = 0.0
    lacking: str = ""
    samples: Samples = field(default_factory=Samples)
    by_training: bool = False
    rounding: float = 0.0


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
    def seeds(self) -> list[int]:
        """Seeds that all cells with an error have."""
        uncertain = [set(e.by_seed) for _, e in self.terms if e.error != 0]
        return sorted(set.intersection(*uncertain)) if uncertain else []

    @property
    def gap(self) -> float:
        """The mean over the common seeds; that of the means where there are too few."""
        return sum(w * self.mean(e) for w, e in self.terms if e.value is not None) + self.constant

    def mean(self, estimate: Estimate) -> float:
        """One of its numbers, as it is compared: at the common seeds."""
        seeds = self.seeds
        if estimate.error == 0 or len(seeds) < COMMON_SEEDS:
            assert estimate.value is not None
            return estimate.value
        return fmean(estimate.by_seed[seed] for seed in seeds)

    @property
    def size(self) -> float:
        return sum(abs(w * e.value) for w, e in self.terms if e.value is not None)

    @property
    def slack(self) -> float:
        """What the rounding of printed numbers may hide of the gap."""
        return sum(abs(w) * e.rounding for w, e in self.terms)

    @property
    def is_tie(self) -> bool:
        equal = ROUNDING * max(1.0, self.size + abs(self.constant))
        return abs(self.gap) <= max(equal, self.slack)

    @property
    def is_counted(self) -> bool:
        """Whether its seeds are counted, not averaged."""
        return any(w and e.by_training and e.error != 0 for w, e in self.terms)

    @property
    def votes(self) -> tuple[int, int]:
        """Seeds for it and against it; equal numbers count for neither."""
        gaps = [
            sum(w * (e.by_seed[s] if e.error != 0 else e.value or 0.0) for w, e in self.terms)
            + self.constant
            for s in self.seeds
        ]  # fmt: skip
        told = [gap for gap in gaps if abs(gap) > max(ROUNDING, self.slack)]
        return sum(gap > 0 for gap in told), sum(gap < 0 for gap in told)

    @property
    def is_positive(self) -> bool:
        """The sign that it has, if it has one: of most of its seeds, or of the gap."""
        there, against = self.votes if self.is_counted else (0, 0)
        return there > against if there != against else self.gap > 0

    def error(self) -> tuple[float | None, float]:
        """Standard error of the gap (None if it is unknown) and degrees of freedom.

        Errors of the samples add up, whatever the runs have in common; they are added in
        quadrature to the error between seeds, with degrees of freedom after Welch and
        Satterthwaite, and stand alone where all seeds agree, if all cells have one.
        """
        if self.is_of_one_seed:
            return self._over_samples()
        known = [(abs(w) * e.error, e.df) for w, e in self.terms if w and e.error]
        degrees = min((df for _, df in known), default=math.inf)
        of_samples = sum(error for error, _ in known), degrees
        between = self._between_seeds()
        if between is None:
            unknown = any(e.error is None for w, e in self.terms if w)
            return (None, math.inf) if unknown else of_samples
        variances = [(error**2, df) for error, df in (between, of_samples) if error]
        total = sum(v for v, _ in variances)
        spent = sum(v**2 / df for v, df in variances)
        return math.sqrt(total), total**2 / spent if spent else math.inf

    def _over_samples(self) -> tuple[float | None, float]:
        """As :meth:`error`, over the replicates of one seed: paired where each has its numbers."""
        uncertain = [(w, e.samples) for w, e in self.terms if w and e.error != 0]
        if len({len(s.values) for _, s in uncertain}) == 1 and len(uncertain[0][1].values) > 1:
            paired = zip(*([w * v for v in s.values] for w, s in uncertain), strict=True)
            values = [sum(numbers) for numbers in paired]
            spread = stdev(values)
            if spread > ROUNDING * self.size:
                return spread / math.sqrt(len(values)), len(values) - 1.0
            steps = [w * s.step for w, s in uncertain]
            return (unseen(math.hypot(*steps), len(values)) or None), math.inf
        errors = [abs(w) * s.error for w, s in uncertain if s.error is not None]
        return (math.hypot(*errors) if len(errors) == len(uncertain) else None), math.inf

    def _between_seeds(self) -> tuple[float, float] | None:
        """(standard error, df) of the values per seed; None where they are all equal."""
        seeds = self.seeds
        uncertain = [(w, e) for w, e in self.terms if w and e.error != 0]
        if not uncertain:
            return None
        spread = stdev(sum(w * e.by_seed[seed] for w, e in uncertain) for seed in seeds)
        if spread <= ROUNDING * self.size:
            spread = 0.0
        if len(uncertain) == 1:  # two cells may have the same samples, whose error then cancels
            ((weight, estimate),) = uncertain
            spread = max(spread, abs(weight) * estimate.sampling)
        return (spread / math.sqrt(len(seeds)), len(seeds) - 1.0) if spread else None

    def t(self) -> float | None:
        """Gap, less what rounding may hide of it, over its error; None if nothing can be said."""
        if self.lacking or self.is_tie or self.is_counted:
            return None
        error, _ = self.error()
        if error is None:
            return None
        beyond = math.copysign(abs(self.gap) - self.slack, self.gap)
        return beyond / error if error else math.copysign(math.inf, self.gap)

    @property
    def is_of_one_seed(self) -> bool:
        """Whether only further seeds could tell its error."""
        exact = all(e.error == 0 for _, e in self.terms)
        return not exact and len(self.seeds) < COMMON_SEEDS

    @property
    def unknown(self) -> str:
        """Why there is no error, for a reader, or how many trainings are for it."""
        n = len(self.seeds)
        if self.is_counted and n >= COMMON_SEEDS:
            return f"in {self.votes[0]} of {n} trainings"
        if n < COMMON_SEEDS:
            return f"{n or 'no'} common seed{'s' * (n != 1)}: no spread is known"
        return f"equal in all {n} seeds: no spread is known"

    def p_value(self) -> float | None:
        """Two-sided probability of a gap as large as this one if there were none."""
        from scipy import stats

        there, against = self.votes if self.is_counted and not self.lacking else (0, 0)
        if there + against:
            return float(stats.binomtest(there, there + against).pvalue)
        if (t := self.t()) is None:
            return None
        return float(2 * stats.t.sf(abs(t), self.error()[1]))
