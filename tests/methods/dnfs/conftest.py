"""Flows given by tables on a space small enough to write every matrix out."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from jumpbench.targets.enumeration import all_states
from jumpbench.targets.tabular import Tabular


@dataclass
class Space:
    """{0..N-1}^D with a random positive law; matrices are (S, S), [to, from] as in the paper."""

    length: int
    n_states: int
    seed: int = 0

    def __post_init__(self):
        generator = torch.Generator().manual_seed(self.seed)
        shape = (self.n_states,) * self.length
        self.target = Tabular(1.5 * torch.randn(shape, generator=generator, dtype=torch.float64))
        self.states = all_states(self.length, self.n_states).long()
        self.size = len(self.states)
        near = (self.states[:, None] != self.states[None]).sum(-1) == 1
        self.near = near.double()
        self.noise = torch.randn(self.size, self.size, generator=generator, dtype=torch.float64)

    @property
    def log_rho(self) -> Tensor:
        return self.target.log_prob(self.states)

    @property
    def slope(self) -> Tensor:
        """d/dt log p~_t."""
        return self.log_rho + torch.tensor(float(self.size)).double().log()

    def law(self, t: float) -> Tensor:
        return (t * self.slope).softmax(0)

    def d_log_z(self, t: float) -> Tensor:
        return self.law(t) @ self.slope

    def log_z(self, t: float = 1.0) -> float:
        start = -torch.tensor(float(self.size)).double().log()
        return float((t * self.slope + start).logsumexp(0))

    def flux_of(self, matrix: Tensor) -> Tensor:
        """G (S, D, N) of G[to, from]."""
        powers = self.n_states ** torch.arange(self.length - 1, -1, -1)
        symbols = torch.arange(self.n_states)
        shift = (symbols - self.states[..., None]) * powers[:, None]
        to = torch.arange(self.size)[:, None, None] + shift
        return matrix[to, torch.arange(self.size)[:, None, None]] * (shift != 0)

    def random_matrix(self, t: float) -> Tensor:
        """An antisymmetric G[to, from], different at every time."""
        noise = self.noise * torch.cos(torch.tensor(2 * t))
        return (noise - noise.T) * self.near

    def exact_matrix(self, t: float) -> Tensor:
        """The flow along a potential that solves the forward equation (L phi = dp/dt)."""
        p = self.law(t)
        change = p * (self.slope - self.d_log_z(t))
        laplacian = self.near.sum(0).diag() - self.near
        phi = torch.linalg.lstsq(laplacian, change[:, None], driver="gelsd").solution[:, 0]
        flow = (phi[:, None] - phi[None, :]) * self.near
        return torch.where(flow > 0, flow / p[None, :], flow / p[:, None])


class TableFlux(nn.Module):
    """A network that looks G up; all times of a call must be equal."""

    def __init__(self, space: Space, matrix) -> None:
        super().__init__()
        self.space, self.matrix = space, matrix
        self.powers = space.n_states ** torch.arange(space.length - 1, -1, -1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        assert (t == t[0]).all()
        flux = self.space.flux_of(self.matrix(float(t[0])))
        return flux[(x * self.powers).sum(-1)]


@pytest.fixture(scope="session")
def space() -> Space:
    return Space(3, 3)


@pytest.fixture(scope="session")
def bits() -> Space:
    return Space(4, 2, seed=1)


@pytest.fixture(scope="session")
def random_flux(bits) -> TableFlux:
    return TableFlux(bits, bits.random_matrix)


@pytest.fixture(scope="session")
def exact_flux(bits) -> TableFlux:
    return TableFlux(bits, bits.exact_matrix)
