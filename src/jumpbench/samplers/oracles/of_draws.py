"""Oracles of a sampler that gives draws, weighted or not."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.draws import Draws
from jumpbench.samplers.oracles.finding import (
    Finding,
    SmallLaw,
    defined,
    guarded,
    seeded,
    seeds,
    words_of,
    worst,
)
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.counted import Counted

Sampler = Callable[[int, torch.Generator], Draws]
Maker = Callable[[DiscreteTarget], Sampler]
"""A sampler of a target: called with a number of draws and a generator."""

SIZE, REPLICATES = 256, 32
COMMON = 300
"""Expected draws of a state that is judged alone: the spread of rarer ones is not that of a normal
number."""
LIMIT, LIMIT_OF_STATES = 4.0, 6.0
"""Of the mean weight; of each state's share, among as many as there are states."""
MOST_OFF = 2.0


def of_sampler(make: Maker) -> list[Finding]:
    """Findings of all oracles, on those of the small laws that the sampler is defined for.

    Standard errors are those over 32 calls of 256 draws, so draws of one call may depend on each
    other.

    - ``weights``: E[w] = Z;
    - ``law``: the draws have the law of the target, E[1{x = s}] = p(s), with weights up to a
      constant factor, E[w (1{x = s} - p(s))] = 0;
    - ``seeds``, ``global random numbers``;
    - ``cost``: the energy evaluations reported are those made, within a factor of two: energies
      that are checked at the start, or asked for twice, are no part of an algorithm.
    """
    good, failed = defined(lambda problem: _are_draws(make(problem.target)(SIZE, seeded(0))))
    if failed:
        return failed
    first = make(good[0].target)
    return [
        *guarded("law", lambda: _unbiased(make, good)),
        *guarded("seeds", lambda: seeds(lambda seed: _all(first(SIZE, seeded(seed))))),
        _cost(make, good[0]),
    ]


def _are_draws(given: Any) -> None:
    if not isinstance(given, Draws):
        raise TypeError(f"it returns {type(given).__name__}: return Draws(samples, log_weights)")
    if len(given) != SIZE:
        raise ValueError(f"asked for {SIZE} draws it returns {len(given)}")


def _all(draws: Draws) -> Tensor:
    x = draws.samples.double().flatten(1)
    return x if draws.log_weights is None else torch.cat((x, draws.log_weights[:, None]), 1)


def _unbiased(make: Maker, good: list[SmallLaw]) -> list[Finding]:
    of_weights, of_states = [], []
    for problem in good:
        sampler, totals, shares = make(problem.target), [], []
        for seed in range(REPLICATES):
            draws = sampler(SIZE, seeded(100 + seed))
            weights, mean = None, torch.ones((), dtype=torch.float64)
            if draws.log_weights is not None:
                weights = (draws.log_weights.double().cpu() - problem.law.log_z).exp()
                totals.append(mean := weights.mean())
            share = problem.counts(draws.samples, weights) / len(draws)
            shares.append(share - mean * problem.law.probs)
        if totals:
            of_weights.append((problem.name, _z(torch.stack(totals), torch.ones(()))))
        rows = torch.stack(shares), torch.zeros_like(problem.law.probs)
        z = _z_of_each(*problem.common(SIZE * REPLICATES, COMMON, *rows))
        of_states.append((problem.name, float(z.abs().max())))
    law = worst("law", LIMIT_OF_STATES, of_states, "the shares of the states")
    if not of_weights:
        return [Finding("weights", None, "it gives none: every draw counts the same"), law]
    return [worst("weights", LIMIT, of_weights, "E[w] = Z"), law]


def _z(values: Tensor, expected: Tensor) -> float:
    return float(_z_of_each(values[:, None], expected[None]))


def _z_of_each(values: Tensor, expected: Tensor) -> Tensor:
    """(mean - expected) / standard error, of (R, K) and (K,). What never varies, but for rounding,
    is right or infinitely wrong."""
    gap, error = values.mean(0) - expected, values.std(0) / len(values) ** 0.5
    right = (gap.abs() < 1e-6) & (error < 1e-9)
    return torch.where(right, 0.0, gap / error.clamp(min=1e-9))


def _cost(make: Maker, problem: SmallLaw) -> Finding:
    counted = Counted(problem.target)
    try:
        sampler = make(counted)
        counted.states = 0
        draws = sampler(SIZE, seeded(0))
    except Exception as error:  # it asks for more than log_prob
        return Finding("cost", None, f"it needs more than log_prob: {words_of(error)}")
    made, said = counted.states, draws.cost.energy_evaluations * len(draws)
    words = f"{SIZE} draws made {made} energy evaluations and reported {said:.0f}"
    return Finding("cost", said <= MOST_OFF * made and made <= MOST_OFF * said, words)
