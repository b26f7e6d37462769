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
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_high

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


def in_words(powers: Sequence[float]) -> str:
    """The median over seeds, and the least and largest: ``2e+04 (9e+03 to never)``."""
    median, low, high = (_number(of(powers)) for of in (median_high, min, max))
    return median if low == high else f"{median} ({low} to {high})"


def _number(power: float) -> str:
    return "never" if power >= NEVER else f"{10**power:.0f}" if power < 3 else f"{10**power:.1e}"
