"""Euclidean travelling salesman: exact solvers, and labels for generated instances.

Coordinates are (B, n, 2) floats, tours (B, n) as :mod:`jumpbench.solvers.tours` has them.
"""

import itertools

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.solvers.tour_search import multi_start
from jumpbench.solvers.tours import canonical_tour

HELD_KARP_LIMIT = 12
INTEGER_SCALE = 10_000_000  # integer solvers see unit-square distances with seven digits


def held_karp(coords: Tensor, chunk: int = 128) -> Tensor:
    """Optimal tours (B, n) of ``coords`` (B, n, 2), canonical, for 2 <= n <= 12.

    Dynamic programme over subsets S of the nodes 1..n-1 and the last node j of a path from 0,
    C(S, j) = min_{i in S \\ j} C(S \\ j, i) + d(i, j), in float64, all subsets of one size and
    ``chunk`` instances at once: n^2 2^n / 4 additions per instance (Held and Karp, 1962).

    Raises:
        UserError: for n > 12, where the table of 2^(n-1) (n-1) entries stops being sensible.
    """
    n = coords.shape[-2]
    if not 2 <= n <= HELD_KARP_LIMIT:
        raise UserError(f"Held-Karp takes 2 to {HELD_KARP_LIMIT} nodes, not {n}: use solve_tours")
    return canonical_tour(torch.cat([_held_karp(part, n) for part in coords.split(chunk)]))


def _held_karp(coords: Tensor, n: int) -> Tensor:
    batch, m, device = coords.shape[0], n - 1, coords.device
    points = coords.double()
    # instances run along the last axis, so that every gather copies contiguous rows
    distance = torch.cdist(points, points).permute(1, 2, 0).contiguous()
    inner = distance[1:, 1:]
    cost = torch.full((2**m, m, batch), torch.inf, dtype=torch.float64, device=device)
    cost[2 ** torch.arange(m), torch.arange(m)] = distance[0, 1:]
    for size in range(2, m + 1):
        members = torch.tensor(list(itertools.combinations(range(m), size)), device=device)
        subset = (2**members).sum(1, keepdim=True)
        before = subset - 2**members  # the subset without its last node, for each last node
        best = torch.full((*members.shape, batch), torch.inf, dtype=torch.float64, device=device)
        for i in range(m):  # C(S \ j, i) is infinite where i is not in S \ j
            torch.minimum(best, cost[before, i] + inner[i][members], out=best)
        cost[subset, members] = best
    instance = torch.arange(batch, device=device)
    subset = torch.full((batch,), 2**m - 1, device=device)
    last = (cost[2**m - 1] + distance[0, 1:]).argmin(dim=0)
    tour = [last]
    for _ in range(m - 1):  # walk back, minimising again instead of storing parents
        subset = subset - 2**last
        last = (cost[subset, :, instance] + inner[:, last, instance].T).argmin(dim=1)
        tour.append(last)
    return torch.stack([torch.full_like(last, -1), *reversed(tour)], dim=1) + 1


def solve_tours(coords: Tensor, generator: torch.Generator, n_starts: int = 20) -> Tensor:
    """Labels (B, n) for generated instances, canonical.

    Exact (Held-Karp) up to 12 nodes; beyond, the best of ``n_starts`` random starts of local
    search with 2-opt and or-opt moves, which is near-optimal and says so in the data's reading.
    """
    if coords.shape[-2] <= HELD_KARP_LIMIT:
        return held_karp(coords)
    return canonical_tour(multi_start(coords, n_starts, generator, or_opt=True).best)


def solve_ortools(coords: Tensor, seconds: float = 60.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Optimal tours (B, n) and whether each was proven optimal (B,), by CP-SAT.

    One circuit constraint over all directed edges per instance, distances rounded to 1e-7; an
    instance that reaches ``seconds`` keeps its best tour, unproven.

    Raises:
        UserError: when ortools is not installed, or nothing was found in time.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise UserError("ortools is missing: pip install -e '.[solvers]'") from None
    n, tours, proven = coords.shape[-2], [], []
    points = coords.double().cpu()
    for distance in (torch.cdist(points, points) * INTEGER_SCALE).round().long().tolist():
        model = cp_model.CpModel()
        edges = [(i, j) for i in range(n) for j in range(n) if i != j]
        arcs = [(i, j, model.new_bool_var("")) for i, j in edges]
        model.add_circuit(arcs)
        model.minimize(sum(distance[i][j] * used for i, j, used in arcs))
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = 1  # one worker and a seed make the tour repeatable
        solver.parameters.random_seed = seed
        solver.parameters.linearization_level = 2
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise UserError(f"ortools found no tour of {n} nodes in {seconds} s: raise seconds")
        successor = {i: j for i, j, used in arcs if solver.boolean_value(used)}
        tour = [0]
        while len(tour) < n:
            tour.append(successor[tour[-1]])
        tours.append(tour)
        proven.append(status == cp_model.OPTIMAL)
    return canonical_tour(torch.tensor(tours)).to(coords.device), torch.tensor(proven)


def solve_lkh(coords: Tensor, runs: int = 10) -> Tensor:
    """Tours (B, n) by Lin-Kernighan-Helsgaun through the opt-in package ``elkai``.

    Raises:
        UserError: when elkai, whose licence is non-commercial and which no extra installs, is
            missing.
    """
    try:
        import elkai
    except ImportError:
        raise UserError(
            "elkai (LKH, non-commercial licence) is missing: pip install elkai, or use ortools"
        ) from None
    points = coords.double().cpu()
    distances = (torch.cdist(points, points) * INTEGER_SCALE).round().long().tolist()
    tours = [elkai.DistanceMatrix(distance).solve_tsp(runs)[:-1] for distance in distances]
    return canonical_tour(torch.tensor(tours)).to(coords.device)
