"""The spread of one cell's number: between seeds, at a bound of its metric, and over samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import cast

from jumpbench.tables.language.metric import Metric

ROUNDING = 1e-12
"""Below this a difference is what float64 makes of none, and so is a number beside 1."""

ENOUGH_SEEDS = 5


def seed_spread(
    values: Sequence[float], stated: float | None, resolution: float = 0.0
) -> tuple[float | None, float]:
    """Standard deviation between seeds that is believed, and its degrees of freedom.

    From five seeds on the measured one; before that at least the stated one (the deviation of
    three seeds is below a third of the true one in one case out of ten). Never zero: five equal
    numbers have the stated spread; and never below ``resolution``, the rounding of the published
    number or the error that a run measured of its own. None if nothing is known.
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
    values: Sequence[float], metric: Metric, samples: int | None
) -> tuple[float, float] | None:
    """(standard error, df) of a mean that stands exactly on a bound of its metric.

    Seeds that all score 100 percent have no spread to measure and none to assume. With N samples
    and no miss, misses at a rate p would be overlooked with probability exp(-N p); Student's t with
    two degrees of freedom and error range / N has at least this tail from four errors on, before
    which nothing is decided. None where the values are not on a bound, or the bounds or the samples
    are not known, and of what jumps from one training to the next, whose samples say nothing of it.
    """
    if metric.bounds is None or metric.jumps or not samples or len(set(values)) > 1:
        return None
    low, high = metric.bounds
    if low is None or high is None or values[0] not in (low, high):
        return None
    return (high - low) / (samples * len(values)), 2.0


@dataclass(frozen=True)
class Samples:
    """What is known of the spread of a run's mean over its samples.

    ``error`` is the standard error of the mean, None if it is not known; ``values`` are the numbers
    of the samples where they were kept, and ``step`` the least difference of two of them (0: any).
    """

    error: float | None = None
    values: Sequence[float] = ()
    step: float = 0.0


def samples_of(
    metric: Metric, mean: float, n: int | None, std: float | None, values: Sequence[float] | None
) -> Samples:
    """Of ``n`` samples with this mean and standard deviation, whose ``values`` may be known.

    A share p of n samples has the error sqrt(p (1 - p) / n), with one hit and one miss added: none
    of a hundred is no certainty. So have samples that are all equal (:func:`unseen`).
    """
    if not n:
        return Samples()
    step, error = metric.sample_step or 0.0, None
    if metric.share and metric.bounds and None not in metric.bounds:
        low, high = cast(tuple[float, float], metric.bounds)
        step = high - low
        p = (n * (mean - low) / step + 1) / (n + 2)
        error = step * math.sqrt(p * (1 - p) / n)
    elif metric.sample_std:
        error = (std / math.sqrt(n) if std else unseen(step, n)) or None
    return Samples(error, tuple(values or ()), step)


def unseen(step: float, n: int) -> float:
    """Standard error of the mean of n equal numbers, had one of n + 2 been one step away.

    step sqrt(p (1 - p) / n) with p = 1 / (n + 2): the error of a share without a single hit, one
    hit and one miss added. 0 where no step is known.
    """
    p = 1 / (n + 2)
    return step * math.sqrt(p * (1 - p) / n)
