"""Ranks of samplers over problems, and which mean ranks can be told apart."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from jumpbench.tables.judging.levels import holm

LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """``ranks`` {problem: {sampler: rank}}, 1 the least error, ties the mean of their places.

    ``mean`` are mean ranks, the best first, of the k samplers with a number on all N problems,
    ranked among themselves: the blocks of Friedman's test, whose statistic and p-value are
    ``chi2`` and ``p`` (None with fewer than two problems or three samplers). ``critical``: mean
    ranks that differ by more are told apart, infinite where none are.
    """

    ranks: Mapping[str, Mapping[str, float]]
    mean: Mapping[str, float]
    chi2: float | None = None
    p: float | None = None
    critical: float = math.inf

    @property
    def samplers(self) -> list[str]:
        """Those of the test, the best first, then those that lack a problem."""
        every = dict.fromkeys(name for ranks in self.ranks.values() for name in ranks)
        return [*self.mean, *(name for name in every if name not in self.mean)]

    @property
    def are_some_without_mean(self) -> bool:
        """Whether a sampler lacks a problem: then ranks of a problem are not those of its block."""
        return len(self.samplers) > len(self.mean) > 0

    @property
    def alike(self) -> list[tuple[str, ...]]:
        """Largest sets of neighbours in mean rank that cannot be told apart."""
        names = list(self.mean)
        found: list[tuple[str, ...]] = []
        for i, first in enumerate(names):
            group = [n for n in names[i:] if self.mean[n] - self.mean[first] <= self.critical]
            if len(group) > 1 and not (found and found[-1][-1] == group[-1]):
                found.append(tuple(group))
        return found


def ranking(errors: Mapping[str, Mapping[str, float]]) -> Ranking:
    """Of {problem: {sampler: error}}.

    Mean ranks differ by the standard error sqrt(k (k + 1) / (6 N)) (Demsar, 2006). Where
    Friedman's test sees a difference at 0.05, all pairs are tested by it and Holm's procedure; as
    it is the same for every pair, one critical difference says what that procedure decides.
    """
    from scipy import stats

    ranks = {problem: _ranked(by_name) for problem, by_name in errors.items()}
    shared = set.intersection(*map(set, errors.values())) if errors else set()
    names = [name for name in next(iter(errors.values()), {}) if name in shared]
    blocks = [_ranked({n: by_name[n] for n in names}) for by_name in errors.values()]
    n, k = len(blocks), len(names)
    mean = {name: sum(block[name] for block in blocks) / n for name in names}
    mean = dict(sorted(mean.items(), key=lambda item: item[1]))
    if n < 2 or k < 3 or all(len(set(block.values())) == 1 for block in blocks):
        return Ranking(ranks, mean)
    tested = stats.friedmanchisquare(*([block[name] for block in blocks] for name in names))
    chi2, p = float(tested.statistic), float(tested.pvalue)
    if p > LEVEL:
        return Ranking(ranks, mean, chi2, p)
    error = math.sqrt(k * (k + 1) / (6 * n))
    places = list(mean.values())
    pairs = [abs(a - b) / error for i, a in enumerate(places) for b in places[:i]]
    decided = sum(holm([2 * float(stats.norm.sf(z)) for z in pairs], LEVEL))
    left = max(len(pairs) - decided, 1)
    return Ranking(ranks, mean, chi2, p, error * float(stats.norm.isf(LEVEL / 2 / left)))


def _ranked(by_name: Mapping[str, float]) -> dict[str, float]:
    from scipy import stats

    return dict(zip(by_name, map(float, stats.rankdata(list(by_name.values()))), strict=True))
