"""The level that several tests share, and Student's quantiles at a number of sigmas."""

import math
from collections.abc import Sequence


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
