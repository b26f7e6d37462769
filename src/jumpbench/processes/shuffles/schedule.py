"""How many shuffles, and which of them the model undoes in one step."""

import math
from itertools import pairwise
from typing import cast

from jumpbench.processes.shuffles.total_variation import tv_between, tv_to_uniform


def choose_steps(n: int, distance: float = 0.005) -> int:
    """T: the number of riffles whose TV to uniform is closest to ``distance`` on the log scale."""
    if n < 2:
        raise ValueError(f"there is nothing to shuffle with n = {n}; use n >= 2")
    if not 0 < distance < 1:
        raise ValueError(f"the distance to uniform must lie in (0, 1), got {distance}")
    above = 0
    while tv_to_uniform(n, above + 1) > distance:
        above += 1
    if above == 0:
        return 1

    def error(t: int) -> float:
        return abs(math.log(tv_to_uniform(n, t) / distance))

    # Two riffles of two cards, say, can be exactly uniform: then there is no logarithm to take.
    if tv_to_uniform(n, above + 1) == 0:
        return above + 1
    return min(above, above + 1, key=error)


def choose_schedule(
    n: int, distance: float = 0.005, first: float = 0.5, gap: float = 0.3
) -> list[int]:
    """Denoising schedule ``[0, t_1, ..., T]`` for n objects.

    T as in :func:`choose_steps`; t_1 is the first time with TV to uniform below ``first``; every
    next entry is the smallest t < T whose TV from the previous one is at least ``gap``; then T.
    The paper asks for gaps near 0.3 and gives no rule for t_1; this one returns its published
    schedules at n = 9, 25 and 100.
    """
    last = choose_steps(n, distance)
    start = next(t for t in range(1, last + 1) if t == last or tv_to_uniform(n, t) < first)
    schedule, time = [0], cast(int | None, start)
    while time is not None:
        schedule.append(time)
        start = time
        time = next((t for t in range(start + 1, last) if tv_between(n, t, start) >= gap), None)
    return schedule if schedule[-1] == last else [*schedule, last]


def schedule_distances(n: int, schedule: list[int]) -> list[float]:
    """TV between consecutive entries of a schedule."""
    return [float(tv_between(n, b, a)) for a, b in pairwise(schedule)]


def riffle_cutoff(n: int) -> float:
    """(3/2) log2 n riffles."""
    return 1.5 * math.log2(n)


def transposition_cutoff(n: int) -> float:
    """(n/2) log n random transpositions."""
    return n / 2 * math.log(n)


def insertion_cutoff(n: int) -> float:
    """n log n random insertions."""
    return n * math.log(n)
