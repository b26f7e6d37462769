"""A run whose loops are too long to go through, from the same run with shorter ones.

The work of nested loops is linear in the length of each, so that the runs in which every length
is one of two small numbers give the run at any lengths: the multilinear interpolation through
them, which is exact but for what is done every so many rounds only.
"""

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from jumpbench.tables.price.ledger import TooLong
from jumpbench.tables.price.operators import Work
from jumpbench.tables.price.passes import SECONDS, Count, count

LENGTHS = ("burn_in", "kernel_steps", "n_iterations", "n_metropolis", "n_proposals", "n_steps",
           "prior_steps", "x0_steps")  # fmt: skip
"""Arguments of methods and samplers that say how many rounds a loop has."""
SHORT = (8, 16)
"""Multiples of the blocks in which chains draw their random numbers."""
MOST = 3
"""Loops of one run that may be shortened: the longest ones."""
LONG = 20_000
"""Rounds, were these loops nested, from which on a run is not gone through as it is."""


def counted(config: dict[str, Any], seconds: float = SECONDS) -> Count:
    """The work of a run, gone through as it is, or by shorter loops where that takes too long.

    Raises:
        TooLong: it has no loops that can be shortened, or takes too long with short ones, too.
        Exception: as :func:`~jumpbench.tables.price.passes.count`.
    """
    longest = sorted(_loops(config["method"]), key=lambda loop: -loop[1])[:MOST]
    loops = {place: length for place, length in longest if length > 2 * SHORT[1]}
    if not loops or math.prod(length for _, length in longest) <= LONG:
        try:
            return count(config, seconds)
        except TooLong:
            if not loops:
                raise
    return interpolated(loops, lambda lengths: _kept(json.dumps(_with(config, lengths)), seconds))


@functools.lru_cache(256)
def _kept(config: str, seconds: float) -> Count:
    """Runs that differ in the lengths of their loops alone are the same with short ones."""
    return count(json.loads(config), seconds)


def interpolated(loops: dict[tuple[Any, ...], int], at: Callable[[dict], Count]) -> Count:
    """The count at these lengths, from those at all combinations of two short ones."""
    low, high = SHORT
    total, every = Work(), []
    for chosen in itertools.product(SHORT, repeat=len(loops)):
        found = at(dict(zip(loops, chosen, strict=True)))
        share = math.prod(
            (length - low if one == high else high - length) / (high - low)
            for length, one in zip(loops.values(), chosen, strict=True)
        )
        total += Work(**found.work) * share
        every.append(found.memory)
    memory = max(every, key=lambda one: sum(one.values()))
    return replace(found, work=vars(total.positive()), memory=memory)


def _loops(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Places of the lengths in a configuration, and the lengths."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from _loops(value, (*place, key))
        elif key in LENGTHS and type(value) is int:
            yield (*place, key), value


def _with(config: dict[str, Any], lengths: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    """The configuration with these numbers in its method."""

    def changed(node: Any, place: tuple[Any, ...]) -> Any:
        if isinstance(node, dict):
            return {k: changed(v, (*place, k)) for k, v in node.items()}
        if isinstance(node, list):
            return [changed(v, (*place, i)) for i, v in enumerate(node)]
        return lengths.get(place, node)

    return {**config, "method": changed(config["method"], ())}
