"""A Schroedinger bridge solved by enumeration: nine states, N = 3 symbols on D = 2 sites."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.processes.schedules import ModifiedLogLinear, Schedule
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.enumeration import all_states


@dataclass
class ExactBridge:
    """Potentials of the bridge from mu to nu; laws and functions of states are vectors (S,)."""

    states: Tensor
    reference: Reference
    mu: Tensor
    nu: Tensor
    phi_1: Tensor
    phihat_0: Tensor

    @classmethod
    def solve(cls, mu: Tensor, nu: Tensor, schedule: Schedule, n_states=3, length=2):
        states = all_states(length, n_states).long()
        reference = Reference(UniformProcess(n_states), schedule)
        bridge = cls(states, reference, mu, nu, torch.ones_like(nu), torch.ones_like(mu))
        kernel = bridge.kernel(0.0, 1.0)
        for _ in range(2000):  # Sinkhorn
            bridge.phihat_0 = mu / (kernel @ bridge.phi_1)
            bridge.phi_1 = nu / (kernel.T @ bridge.phihat_0)
        return bridge

    def kernel(self, s, t) -> Tensor:
        """p(y at t | x at s), (..., S, S), row = from; times may be tensors."""
        noise = torch.as_tensor(self.reference.schedule.integral(s, t), dtype=torch.float64)
        site = self.reference.process.kernel(noise)
        matrix = site
        for _ in range(self.states.shape[1] - 1):
            matrix = torch.einsum("...ab,...cd->...acbd", matrix, site)
            matrix = matrix.flatten(-4, -3).flatten(-2, -1)
        return matrix

    def phi(self, t) -> Tensor:
        return self.kernel(t, 1.0) @ self.phi_1

    def phihat(self, t) -> Tensor:
        return self.kernel(0.0, t).transpose(-1, -2) @ self.phihat_0

    def index(self, x: Tensor) -> Tensor:
        """Row of ``states`` of every x (..., D)."""
        n_states, length = self.reference.process.n_states, self.states.shape[1]
        return (x * n_states ** torch.arange(length - 1, -1, -1)).sum(-1)

    def neighbors(self) -> Tensor:
        """Index (S, D, N) of every state with one site changed."""
        n_states, length = self.reference.process.n_states, self.states.shape[1]
        x = self.states[:, None, None, :].expand(-1, length, n_states, -1).clone()
        for d in range(length):
            x[:, d, :, d] = torch.arange(n_states)
        return self.index(x)

    def log_ratios(self, potential: Tensor) -> Tensor:
        """log f(x^{d<-n}) - log f(x), (..., S, D, N), of f (..., S)."""
        log = potential.log()
        return log[..., self.neighbors()] - log[..., :, None, None]


@pytest.fixture(scope="session")
def bridge() -> ExactBridge:
    generator = torch.Generator().manual_seed(5)
    mu, nu = (torch.randn(9, generator=generator).double().softmax(0) for _ in range(2))
    return ExactBridge.solve(mu, nu, ModifiedLogLinear(1.0, 0.5))


@pytest.fixture(scope="session")
def solve():
    return ExactBridge.solve
