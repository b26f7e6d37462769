"""Lattice models: ratios against one energy, cluster sweeps against plain Python.

    python tests/benchmarks/bench_lattice.py [--threads 2] [--output bench_lattice.json]

Ratios: long states, float32, preallocated output; the other side is the model's own
energy (two shifts). Wanted: at most 1.5 times one energy. Sweeps: 128 Ising chains of 24 x 24 at
the critical coupling; the other side goes over the bonds one by one with union-find.
Wanted: 15 times as fast.
"""

import argparse
import math
import random
from collections.abc import Callable
from typing import Any

import torch
from common import as_in_a_run, compare, record

from jumpbench.samplers.clusters.bonds import bond_probability, open_bonds
from jumpbench.samplers.clusters.labels import labels_by_propagation, labels_by_search
from jumpbench.samplers.clusters.swendsen_wang import SwendsenWang
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.targets.base import random_states
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts

CRITICAL = 0.4407


def repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(times):
            work()

    return loop


def ratios(
    target: Ising | Potts, batch: int, device: str, dtype: torch.dtype = torch.long
) -> dict[str, Any]:
    x = random_states(target, (batch,), torch.Generator(device).manual_seed(0)).to(dtype)
    out = torch.empty(*x.shape, target.n_states, device=device)
    times = max(2, 1024 // batch)
    return compare(
        f"ratios {type(target).__name__} L={target.size} batch={batch} {dtype}",
        repeated(lambda: target.neighbor_log_ratios(x, out=out), times),
        repeated(lambda: target.energy(x), times),
        repeats=15,
    )


def plain_sweep(states: list[list[int]], size: int, strength: float) -> list[list[int]]:
    """One Swendsen-Wang sweep of Ising chains, bond by bond."""
    probability = 1 - math.exp(-strength)
    result = []
    for state in states:
        parent = list(range(size * size))

        def find(i: int, parent: list[int] = parent) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        for i in range(size):
            for j in range(size):
                here = i * size + j
                for there in (i * size + (j + 1) % size, (i + 1) % size * size + j):
                    if state[here] == state[there] and random.random() < probability:
                        a, b = find(here), find(there)
                        if a != b:
                            parent[a] = b
        symbols: dict[int, int] = {}
        result.append([symbols.setdefault(find(k), random.randrange(2)) for k in range(len(state))])
    return result


def sweeps(device: str) -> list[dict[str, Any]]:
    target = Ising(24, CRITICAL)
    generator = torch.Generator(device).manual_seed(0)
    x, _ = SwendsenWang()(target, random_states(target, (128,), generator), 200, generator)
    states = x.tolist()
    swept = compare(
        "Swendsen-Wang sweep, 128 x 24 x 24, critical; other: union-find per bond",
        lambda: SwendsenWang()(target, x, 1, generator),
        lambda: plain_sweep(states, 24, 2 * CRITICAL),
        repeats=7,
    )
    right, down = (
        bonds.cpu() for bonds in open_bonds(target.grid(x), bond_probability(target), generator)
    )
    labelled = compare(
        "cluster labels on the CPU: graph search; other: pointer jumping",
        lambda: labels_by_search(right, down),
        lambda: labels_by_propagation(right, down),
        repeats=7,
    )
    return [swept, labelled]


def metropolis(device: str) -> dict[str, Any]:
    """One random-scan sweep of single-site steps against one Swendsen-Wang sweep."""
    target = Ising(24, CRITICAL)
    generator = torch.Generator(device).manual_seed(0)
    x = random_states(target, (128,), generator).to(torch.uint8)
    return compare(
        "Metropolis sweep of 576 steps, 128 chains; other: one Swendsen-Wang sweep",
        lambda: LatticeMetropolis()(target, x, 576, generator),
        lambda: SwendsenWang()(target, x, 1, generator),
        repeats=7,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", default="bench_lattice.json")
    options = parser.parse_args()
    as_in_a_run(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    results = [ratios(Ising(24, CRITICAL), batch, device) for batch in (16, 128, 512)]
    results += [ratios(Ising(24, CRITICAL), 128, device, torch.uint8)]
    results += [ratios(Potts(24, 4, 1.0986), batch, device) for batch in (16, 128, 512)]
    results += sweeps(device)
    results.append(metropolis(device))
    record(results, options.output)


if __name__ == "__main__":
    main()
