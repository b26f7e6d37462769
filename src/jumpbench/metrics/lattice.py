"""How far samples of a lattice model are from ground truth, and how far chance alone would be.

The definitions follow what the numbers of the DASBS paper (arXiv 2602.08243, Tables 2 and 3) imply:
uniform spins against ground truth reproduce the sizes printed there only with them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.metrics.wasserstein import wasserstein2
from jumpbench.seeding import make_generator
from jumpbench.targets.base import check_states
from jumpbench.targets.lattice import LatticeTarget, is_lattice

_CHUNK = 1024


def symbol_fractions(x: Tensor, n_states: int) -> Tensor:
    """Fraction of sites with each symbol, (B, D) -> (B, N) float64."""
    counts = torch.stack([(x == n).sum(-1) for n in range(n_states)], -1)
    return counts.double() / x.shape[-1]


def majority_fraction(x: Tensor, n_states: int) -> Tensor:
    """Fraction of sites with the most frequent symbol, not rescaled; (B, D) -> (B,) float64."""
    return symbol_fractions(x, n_states).amax(-1)


def equal_symbol_probability(x: Tensor, size: int) -> Tensor:
    """Share of sites with x_i = x_{i+r}, rows and columns averaged; (B, D) -> (B, L) float64.

    r = 0..L-1, which on the torus are the lags -L/2..L/2-1 in another order. The raw Ising
    correlation is 2 p - 1, the Potts correlation p - 1/N; no means are subtracted.
    """
    parts = []
    for part in x.to(torch.uint8).split(_CHUNK):
        grid = part.view(-1, size, size)
        counts = [
            (grid == grid.roll(r, 1)).sum((1, 2)) + (grid == grid.roll(r, 2)).sum((1, 2))
            for r in range(size // 2 + 1)
        ]
        parts.append(torch.stack(counts, -1).double() / (2 * size**2))
    half = torch.cat(parts)
    return torch.cat((half, half[:, 1 : size - size // 2].flip(1)), 1)


@dataclass(frozen=True)
class LatticeStatistics:
    """Everything the metrics need of each configuration; all float64, first axis B.

    ``energy`` (B,); ``fractions`` (B, N), symbol fractions; ``correlation`` (B, L).
    """

    energy: Tensor
    fractions: Tensor
    correlation: Tensor

    @classmethod
    def of(cls, target: LatticeTarget, x: Tensor) -> "LatticeStatistics":
        if not is_lattice(target):
            raise UserError(
                "lattice metrics need a lattice target (size, pair, field, grid, energy), such as "
                f"Ising and Potts, not {type(target).__name__}"
            )
        if len(x) == 0:
            raise UserError("lattice metrics need at least one configuration")
        check_states(target, x)
        equal = equal_symbol_probability(x, target.size)
        return cls(
            torch.cat([target.energy(part).double() for part in x.split(_CHUNK)]),
            symbol_fractions(x, target.n_states),
            2 * equal - 1 if has_spins(target) else equal - 1 / target.n_states,
        )

    def __getitem__(self, index: Tensor) -> "LatticeStatistics":
        return LatticeStatistics(self.energy[index], self.fractions[index], self.correlation[index])

    def __len__(self) -> int:
        return len(self.energy)


def has_spins(target: LatticeTarget) -> bool:
    """Whether a lattice target is judged by its signed spins (it has ``spins``, as Ising has)."""
    return hasattr(target, "spins")


def dominating_symbols(fractions: Tensor) -> Tensor:
    """1 at the most frequent symbol of a configuration, ties divided equally; (B, N)."""
    winners = (fractions == fractions.amax(-1, keepdim=True)).double()
    return winners / winners.sum(-1, keepdim=True)


def mode_imbalance(modes: Tensor) -> Tensor:
    """Total variation of the law of the dominating symbol from uniform; modes (B, N)."""
    return (modes.mean(0) - 1 / modes.shape[1]).abs().sum() / 2


def _common_errors(a: LatticeStatistics, b: LatticeStatistics) -> dict[str, Tensor]:
    return {
        "correlation_error": (a.correlation.mean(0) - b.correlation.mean(0)).abs().mean(),
        "energy_w2": wasserstein2(a.energy, b.energy),
        "energy_error": (a.energy.mean() - b.energy.mean()).abs(),
        "mode_imbalance": mode_imbalance(dominating_symbols(a.fractions)),
    }


def _ising_errors(a: LatticeStatistics, b: LatticeStatistics) -> dict[str, Tensor]:
    spin_a, spin_b = (2 * s.fractions[:, 1] - 1 for s in (a, b))
    return {
        "magnetization_error": (spin_a.mean() - spin_b.mean()).abs(),
        "abs_magnetization_error": (spin_a.abs().mean() - spin_b.abs().mean()).abs(),
        **_common_errors(a, b),
    }


def _potts_errors(a: LatticeStatistics, b: LatticeStatistics) -> dict[str, Tensor]:
    majority = (a.fractions.amax(-1).mean() - b.fractions.amax(-1).mean()).abs()
    return {"magnetization_error": majority, "majority_error": majority, **_common_errors(a, b)}


def _order(statistics: LatticeStatistics, spins: bool) -> dict[str, Tensor]:
    if not spins:
        return {"majority_fraction": statistics.fractions.amax(-1).mean()}
    spin = 2 * statistics.fractions[:, 1] - 1
    return {"magnetization": spin.mean(), "abs_magnetization": spin.abs().mean()}


def lattice_metrics(
    target: LatticeTarget,
    samples: Tensor,
    ground_truth: Tensor,
    generator: torch.Generator | None = None,
    replicates: int = 32,
) -> dict[str, float]:
    """Errors of ``samples`` (B, D) against ``ground_truth`` (B', D), each with its noise floor.

    - ``magnetization_error``: |difference of the mean over configurations| of, for Ising, the
      SIGNED mean spin, for Potts the fraction of the most frequent symbol (not rescaled);
      ``majority_error`` is the same number under its own name (Potts);
    - ``abs_magnetization_error`` (Ising): the same for the absolute mean spin;
    - ``correlation_error``: mean over the lags r = -L/2..L/2-1, r = 0 included, of
      |C_samples(r) - C_truth(r)|, C as in :func:`equal_symbol_probability`;
    - ``energy_w2``: :func:`wasserstein2` of the total energies (not times beta, not per site);
    - ``energy_error``: |difference of mean total energies|;
    - ``mode_imbalance``: total variation of the law of the dominating symbol from uniform, and
      ``positive_mode_weight`` (Ising): share of the samples with positive magnetisation (ties
      half). Neither looks at the ground truth; at h = 0 the exact values are 0 and 1/2. A sampler
      that misses a mode shows here, and hardly in the other errors;
    - ``magnetization``, ``abs_magnetization`` (Ising): mean over the samples of the mean spin
      m = (1 / D) sum_i s_i of a configuration, and of its absolute value |m|; ``majority_fraction``
      (Potts): mean over the samples of max_n (share of the sites with symbol n). With ``true_`` in
      front, the same of the ground truth. Samples that all lie in one mode have the right
      ``abs_magnetization`` and the wrong ``magnetization``;
    - ``NAME_floor``: the expected value of NAME for perfect samples, as the mean over
      ``replicates`` pairs of sets of B and B' configurations drawn from the ground truth with
      replacement (a two-sample bootstrap; it presumes a thinned, uncorrelated ground truth).

    ``generator`` (on the CPU) draws the bootstrap; the default one is always seeded alike.

    Raises:
        UserError: another target, an empty set, or states that are not the target's.
    """
    a = LatticeStatistics.of(target, samples)
    b = LatticeStatistics.of(target, ground_truth.to(samples.device))
    errors = _ising_errors if has_spins(target) else _potts_errors
    values = errors(a, b)
    generator = generator or make_generator(0, "lattice floors")
    floors = {name: torch.zeros_like(value) for name, value in values.items()}
    for _ in range(replicates):
        draws = (
            torch.randint(len(b), (count,), generator=generator).to(samples.device)
            for count in (len(a), len(b))
        )
        for name, value in errors(*(b[index] for index in draws)).items():
            floors[name] += value / replicates
    if has_spins(target):
        values["positive_mode_weight"] = dominating_symbols(a.fractions)[:, 1].mean()
    for prefix, statistics in (("", a), ("true_", b)):
        values |= {f"{prefix}{k}": v for k, v in _order(statistics, has_spins(target)).items()}
    values |= {f"{name}_floor": value for name, value in floors.items()}
    numbers = torch.stack(list(values.values())).tolist()
    return dict(zip(values, numbers, strict=True))
