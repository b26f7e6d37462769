"""Batched local search for the Euclidean travelling salesman: 2-opt and or-opt moves.

Every instance makes its own best move of the whole neighbourhood in each step ("best
improvement"); all instances step together on the device of the coordinates.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.solvers.tours import tour_length

TOLERANCE = 1e-9  # a move must shorten the tour by more than this, or rounding could cycle
MOVES_PER_CHECK = 8  # moves between looks at which instances are done (each look is a host sync)
CPU_ENTRIES = 2**16  # distances in hand at a time on a CPU


@dataclass
class MultiStart:
    """Local optima of several starts: tours (B, starts, n), lengths (B, starts) float64."""

    tours: Tensor
    lengths: Tensor

    @property
    def best(self) -> Tensor:
        """The shortest tour of every instance, (B, n)."""
        rows = torch.arange(len(self.tours), device=self.tours.device)
        return self.tours[rows, self.lengths.argmin(1)]


def random_tours(shape: tuple[int, ...], n: int, generator: torch.Generator) -> Tensor:
    """Independent uniform permutations ``(*shape, n)`` on the generator's device."""
    noise = torch.rand(*shape, n, generator=generator, device=generator.device)
    return noise.argsort(dim=-1)


def local_search(coords: Tensor, tours: Tensor, or_opt: bool = False) -> Tensor:
    """Local optima (B, n) reached from ``tours`` (B, n) over ``coords`` (B, n, 2).

    The neighbourhood is 2-opt (reverse a stretch of the tour), with ``or_opt`` also moving one to
    three consecutive nodes elsewhere in either direction. Best improvement, until no move
    shortens the tour by more than 1e-9. Arithmetic in float64.
    """
    n = coords.shape[-2]
    if n < 4:
        return tours.clone()  # all tours of three nodes are one cycle
    # on a CPU the (n, n) matrices of all instances in hand should stay in its cache
    chunk = max(1, CPU_ENTRIES // n**2) if coords.device.type == "cpu" else len(coords)
    parts = zip(coords.double().split(chunk), tours.split(chunk), strict=True)
    return torch.cat([_descend(points, part.clone(), or_opt) for points, part in parts])


def _descend(coords: Tensor, tours: Tensor, or_opt: bool) -> Tensor:
    active = torch.arange(len(tours), device=tours.device)
    while len(active):
        current, points = tours[active], coords[active]
        for _ in range(MOVES_PER_CHECK):
            current, improved = _best_move(points, current, or_opt)
        tours[active] = current
        active = active[improved]
    return tours


def multi_start(
    coords: Tensor, n_starts: int, generator: torch.Generator, or_opt: bool = False
) -> MultiStart:
    """Local search of each instance from ``n_starts`` uniformly random tours."""
    batch, n, _ = coords.shape
    starts = random_tours((batch, n_starts), n, generator).to(coords.device)
    points = coords.repeat_interleave(n_starts, dim=0)
    tours = local_search(points, starts.flatten(0, 1))
    if or_opt:  # the larger neighbourhood costs four times as much: only for the last moves
        tours = local_search(points, tours, or_opt=True)
    tours = tours.view(batch, n_starts, n)
    return MultiStart(tours, tour_length(coords.unsqueeze(1), tours))


def _best_move(coords: Tensor, tours: Tensor, or_opt: bool) -> tuple[Tensor, Tensor]:
    """One step of every tour, and which ones it shortened (B,)."""
    ordered = coords.gather(1, tours[..., None].expand(-1, -1, 2))
    between = torch.cdist(ordered, ordered, compute_mode="donot_use_mm_for_euclid_dist")
    gain, order = _two_opt(between)
    if or_opt:
        for length in range(1, min(3, tours.shape[1] - 3) + 1):
            other_gain, other_order = _or_opt(between, length)
            better = other_gain < gain
            gain = torch.where(better, other_gain, gain)
            order = torch.where(better[:, None], other_order, order)
    improved = gain < -TOLERANCE
    return torch.where(improved[:, None], tours.gather(1, order), tours), improved


def _two_opt(between: Tensor) -> tuple[Tensor, Tensor]:
    """Best 2-opt change of length (B,) and the new order of positions (B, n).

    Replacing the edges (i, i+1), (j, j+1) by (i, j), (i+1, j+1) reverses positions i+1..j.
    """
    n = between.shape[-1]
    edge = torch.diagonal(between.roll(-1, dims=2), dim1=1, dim2=2)  # d(k, k+1)
    change = between + between.roll((-1, -1), dims=(1, 2)) - edge[:, :, None] - edge[:, None, :]
    lower = torch.ones(n, n, dtype=torch.bool, device=between.device).tril()
    gain, flat = change.masked_fill(lower, torch.inf).flatten(1).min(dim=1)
    first, last = flat[:, None] // n + 1, flat[:, None] % n
    position = torch.arange(n, device=between.device)
    inside = (position >= first) & (position <= last)
    return gain, torch.where(inside, first + last - position, position)


def _or_opt(between: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Best move of ``length`` consecutive nodes: change of length, new order of positions.

    The stretch a..a+L-1 (positions modulo n) leaves its neighbours, which are joined, and enters
    the edge (b, b+1), forwards or backwards, whichever is shorter.
    """
    n = between.shape[-1]
    position = torch.arange(n, device=between.device)
    edge = torch.diagonal(between.roll(-1, dims=2), dim1=1, dim2=2)  # d(k, k+1)
    before, after = (position - 1) % n, (position + length) % n
    removed = between[:, before, after] - edge.roll(1, dims=1) - edge.roll(1 - length, dims=1)
    from_tail = between.roll(1 - length, dims=1)  # (a, b): d(a+L-1, b)
    forward = between + from_tail.roll(-1, dims=2)
    backward = from_tail + between.roll(-1, dims=2)
    change = torch.minimum(forward, backward) + (removed[:, :, None] - edge[:, None, :])
    # b may be neither in the stretch nor the position before it
    overlap = (position[None, :] - before[:, None]) % n <= length
    gain, flat = change.masked_fill(overlap, torch.inf).flatten(1).min(dim=1)
    rows = torch.arange(len(between), device=between.device)
    start, target = flat // n, flat % n
    reverse = backward[rows, start, target] < forward[rows, start, target]
    rank = (position - start[:, None]) % n  # place within the stretch, where < length
    place = torch.where(reverse[:, None], length - 1 - rank, rank)
    stride = length + 1
    key = torch.where(rank < length, target[:, None] * stride + 1 + place, position * stride)
    return gain, key.argsort(dim=1)
