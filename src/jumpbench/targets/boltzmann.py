"""Boltzmann machines: spins with pair couplings between any sites, and three families of them."""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.seeding import make_generator
from jumpbench.targets.base import Target


class BoltzmannMachine(Target):
    """log nu(x) = -beta E(x), E = -(s^T J s / 2 + h^T s + constant), s = 2x - 1.

    Args:
        couplings: J, (D, D), symmetric with a zero diagonal.
        beta: inverse temperature.
        field: h, (D,); none by default.
        constant: of minus the energy.
        dtype: of everything computed; float64 for oracles.

    Raises:
        UserError: negative or non-finite ``beta``, couplings that are not finite, not symmetric or
            not zero on the diagonal.
    """

    def __init__(
        self,
        couplings: Tensor,
        beta: float,
        field: Tensor | None = None,
        constant: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(len(couplings), 2)
        if not 0 <= beta < math.inf:
            raise UserError(f"beta must be finite and not negative, not {beta}")
        field = torch.zeros(self.length) if field is None else field
        finite = couplings.isfinite().all() and field.isfinite().all()
        if not (finite and torch.equal(couplings, couplings.T) and not couplings.diag().any()):
            raise UserError("couplings must be finite, symmetric and zero on the diagonal")
        self.beta, self.constant, self.dtype = float(beta), float(constant), dtype
        self.couplings, self.fields = couplings.to(dtype), field.to(dtype)
        self._copies: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def energy(self, x: Tensor) -> Tensor:
        spins = self._spins(x)
        half = self._local(spins, 0.5)
        return -((spins * half).sum(-1) + self.constant)

    def log_prob(self, x: Tensor) -> Tensor:
        return -self.beta * self.energy(x)

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        """A flip of site i adds -2 beta s_i (J s + h)_i."""
        spins = self._spins(x)
        flip = -2 * self.beta * spins * self._local(spins)
        symbol = torch.arange(2, device=x.device)
        return torch.where(symbol == x.unsqueeze(-1), 0.0, flip.unsqueeze(-1))

    def site_log_ratios(self, x: Tensor, site: Tensor) -> Tensor:
        """x (B, D), site (B,) -> (B, N): the rows of :meth:`neighbor_log_ratios` at the sites."""
        spins = self._spins(x)
        couplings, fields = self._on(x.device)
        local = (couplings[site] * spins).sum(-1)
        local = local + fields[site]
        old = x.gather(1, site[:, None])
        flip = -2 * self.beta * (2 * old[:, 0].to(self.dtype) - 1) * local
        return torch.where(torch.arange(2, device=x.device) == old, 0.0, flip[:, None])

    def _spins(self, x: Tensor) -> Tensor:
        return 2 * x.to(self.dtype) - 1

    def _local(self, spins: Tensor, pairs: float = 1.0) -> Tensor:
        couplings, fields = self._on(spins.device)
        return pairs * (spins @ couplings) + fields

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Couplings and fields on a device, copied to it once."""
        if device not in self._copies:
            self._copies[device] = self.couplings.to(device), self.fields.to(device)
        return self._copies[device]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_copies": {}}


class SpinGlass(BoltzmannMachine):
    """Edwards and Anderson's +-J glass on the L x L torus: E = -sum over edges J_ij s_i s_j.

    Signs are fair coins of the ``disorder``, a seed. Site ``d = row * L + column``.

    Attributes:
        size: L.
        right: signs (L, L) of the edges to the right neighbour, float.
        down: likewise to the neighbour below.

    Raises:
        UserError: ``size < 3``, where the neighbours of a site coincide.
    """

    def __init__(
        self, size: int, beta: float, disorder: int = 0, dtype: torch.dtype = torch.float32
    ) -> None:
        if size < 3:
            raise UserError(f"a periodic lattice needs size >= 3, not {size}")
        signs = torch.randint(2, (2, size, size), generator=make_generator(disorder, "glass"))
        self.size, self.disorder = int(size), int(disorder)
        self.right, self.down = 2.0 * signs - 1
        site = torch.arange(size * size).view(size, size)
        couplings = torch.zeros(size * size, size * size)
        for sign, other in ((self.right, site.roll(-1, 1)), (self.down, site.roll(-1, 0))):
            couplings[site, other] += sign
            couplings[other, site] += sign
        super().__init__(couplings, beta, dtype=dtype)


def hard_core(
    nodes: int, beta: float, edge_probability: float = 0.2, penalty: float = 2.0, graph: int = 0
) -> BoltzmannMachine:
    """Independent sets of an Erdos-Renyi graph: -E = sum x - penalty (edges between chosen nodes).

    ``graph`` is the seed of the graph. With a penalty above 1 the ground states are the maximum
    independent sets and -E their size.

    Raises:
        UserError: a penalty of 1 or less, at which a conflict would pay.
    """
    if penalty <= 1:
        raise UserError(f"with a penalty of {penalty} a conflict would pay: use more than 1")
    coins = torch.rand(nodes, nodes, generator=make_generator(graph, "hard core"))
    adjacency = (coins < edge_probability).float().triu(1)
    adjacency = adjacency + adjacency.T
    # x = (1 + s) / 2: x_i x_j = (1 + s_i + s_j + s_i s_j) / 4.
    field = 0.5 - penalty / 4 * adjacency.sum(1)
    constant = nodes / 2 - penalty / 8 * float(adjacency.sum())
    return BoltzmannMachine(-penalty / 4 * adjacency, beta, field, constant)


def random_machine(
    spins: int, beta: float, field: float = 0.1, couplings: int = 0
) -> BoltzmannMachine:
    """J_ij ~ N(0, 1 / D) between all pairs, h_i ~ N(0, field^2); ``couplings`` is their seed."""
    generator = make_generator(couplings, "random machine")
    upper = torch.randn(spins, spins, generator=generator).triu(1) / math.sqrt(spins)
    h = field * torch.randn(spins, generator=generator)
    return BoltzmannMachine(upper + upper.T, beta, h)
