"""Exact total-variation distances of riffle shuffles, and laws of small walks by enumeration."""

from fractions import Fraction
from functools import cache
from math import comb, factorial

import torch
from torch import Tensor

from jumpbench.processes.permutations import all_permutations, lexicographic_rank
from jumpbench.processes.shuffles.base import Shuffle


@cache
def eulerian(n: int) -> tuple[int, ...]:
    """A_{n,r}, r = 1..n: how many permutations of n have r rising sequences.

    ``A_{n,r} = r A_{n-1,r} + (n-r+1) A_{n-1,r-1}``, ``A_{1,1} = 1``.
    """
    if n < 1:
        raise ValueError(f"Eulerian numbers are for n >= 1, got n = {n}")
    row = [1]
    for m in range(2, n + 1):
        row = [
            r * (row[r - 1] if r < m else 0) + (m - r + 1) * (row[r - 2] if r > 1 else 0)
            for r in range(1, m + 1)
        ]
    return tuple(row)


def riffle_probability(n: int, steps: int, r: int) -> Fraction:
    """q^(t) of one permutation with r rising sequences, ``2^{-tn} C(n + 2^t - r, n)``, exact."""
    top = n + 2**steps - r
    return Fraction(comb(top, n) if top >= n else 0, 2 ** (steps * n))


@cache
def tv_between(n: int, t: int, s: int) -> Fraction:
    """TV(q^(t), q^(s)) of t and s riffles of n cards, exact (Proposition 3)."""
    # One common denominator keeps the sum in integers: fractions would reduce at every term.
    t, s = max(t, s), min(t, s)
    scale = 2 ** ((t - s) * n)
    total = sum(
        count * abs(_ways(n, t, r) - scale * _ways(n, s, r))
        for r, count in enumerate(eulerian(n), start=1)
    )
    return Fraction(total, 2 ** (t * n + 1))


@cache
def tv_to_uniform(n: int, t: int) -> Fraction:
    """TV(q^(t), uniform) of t riffles of n cards, exact (Proposition 3)."""
    total = sum(
        count * abs(factorial(n) * _ways(n, t, r) - 2 ** (t * n))
        for r, count in enumerate(eulerian(n), start=1)
    )
    return Fraction(total, factorial(n) * 2 ** (t * n + 1))


def _ways(n: int, t: int, r: int) -> int:
    top = n + 2**t - r
    return comb(top, n) if top >= n else 0


def step_law(shuffle: Shuffle) -> Tensor:
    """One-step law over all n! permutations in lexicographic order, ``(n!,)`` float64."""
    return shuffle.log_prob(all_permutations(shuffle.n)).exp()


def convolve(law: Tensor, step: Tensor, n: int) -> Tensor:
    """Law of ``perm[sigma]`` with ``perm ~ law`` and ``sigma ~ step``, both ``(n!,)``.

    Enumerates (n!)^2 products: for n <= 6.
    """
    group = all_permutations(n)
    result = torch.zeros_like(law)
    for sigma, probability in zip(group, step.tolist(), strict=True):
        if probability:
            result.index_add_(0, lexicographic_rank(group[:, sigma]), law * probability)
    return result


def law_by_convolution(shuffle: Shuffle, steps: int) -> Tensor:
    """Law of ``steps`` shuffles over all n! permutations by group convolution, n <= 6."""
    if shuffle.n > 6:
        raise ValueError(f"group convolution enumerates (n!)^2 products: n <= 6, not {shuffle.n}")
    step = step_law(shuffle)
    law = torch.zeros_like(step)
    law[0] = 1.0
    for _ in range(steps):
        law = convolve(law, step, shuffle.n)
    return law


def tv_of_laws(p: Tensor, q: Tensor) -> Tensor:
    """Half the L1 distance over the last axis."""
    return (p - q).abs().sum(-1) / 2
