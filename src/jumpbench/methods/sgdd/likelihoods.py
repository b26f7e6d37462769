"""What is known about x besides the prior: log p(y|x) of a measurement, or a reward.

All samplers of this package need ``log_likelihood`` only. ``changes`` and ``site_log_likelihood``
let them be faster, or exact, where the likelihood has structure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.targets.changes import Commit, Delta, LogProbDelta, at_site

Misfit = Callable[[Tensor, Tensor], Tensor]


class Likelihood(ABC):
    """log p(y|x) up to a constant, as a function of integer states (..., D)."""

    @abstractmethod
    def log_likelihood(self, x: Tensor) -> Tensor:
        """(..., D) -> (...), floating point."""

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        """How one-site proposals change log p(y|x), for a Metropolis chain that starts at x (B, D).

        A function ``delta(x, site, token) -> (B,)``, and what to call after each step, if
        anything. Here: one evaluation of ``log_likelihood`` per proposal.
        """
        delta = LogProbDelta(self.log_likelihood, x)
        return delta, delta.commit

    def site_log_likelihood(self) -> Tensor | None:
        """Table (D, N) whose entries at x sum to log p(y|x), or None if there is none."""
        return None


class InverseProblem(Likelihood):
    """log p(y|x) = -misfit(G(x), y) / sigma (SGDD sec. 4.1).

    Args:
        operator: G, states (..., D) to predictions (..., m).
        observed: y, broadcastable to the predictions.
        misfit: how far predictions lie from y; (..., m), (..., m) -> (...).
        sigma: noise scale, in the units of the misfit.

    Raises:
        ValueError: ``sigma`` is not positive.
    """

    def __init__(
        self, operator: Callable[[Tensor], Tensor], observed: Tensor, misfit: Misfit, sigma: float
    ) -> None:
        if not sigma > 0:
            raise ValueError(f"sigma is {sigma}; a likelihood needs sigma > 0")
        self.operator, self.observed, self.misfit, self.sigma = operator, observed, misfit, sigma

    def log_likelihood(self, x: Tensor) -> Tensor:
        return self.misfit(self.operator(x), self.observed.to(x.device)) / -self.sigma


class Reward(Likelihood):
    """log p(y|x) = beta r(x), for any function r from states (..., D) to numbers (...)."""

    def __init__(self, reward: Callable[[Tensor], Tensor], beta: float = 1.0) -> None:
        self.reward, self.beta = reward, beta

    def log_likelihood(self, x: Tensor) -> Tensor:
        return self.beta * self.reward(x)


class SiteLikelihood(Likelihood):
    """log p(y|x) = sum_i table[i, x_i]: every site is measured on its own.

    ``table`` is (D, N). The exact likelihood step and O(1) changes are then available.
    """

    def __init__(self, table: Tensor) -> None:
        if table.ndim != 2:
            raise ValueError(f"the table of a site likelihood is (D, N), not {tuple(table.shape)}")
        self.table = table
        self._flat = table.float().reshape(-1)
        self._start = torch.arange(table.shape[0], dtype=torch.int32) * table.shape[1]

    @classmethod
    def infill(cls, observed: Tensor, mask: Tensor, n_states: int, sigma: float):
        """-(number of observed sites that differ) / sigma; ``observed`` and ``mask`` are (D,)."""
        differs = observed[:, None] != torch.arange(n_states, device=observed.device)
        return cls(-(differs & mask[:, None]).double() / sigma)

    def _entries(self, cell: Tensor) -> Tensor:
        if self._flat.device != cell.device:
            self._flat = self._flat.to(cell.device)
        return self._flat.index_select(0, cell.reshape(-1)).view(cell.shape)

    def log_likelihood(self, x: Tensor) -> Tensor:
        if self._start.device != x.device:
            self._start = self._start.to(x.device)
        return self._entries(x + self._start).sum(-1)

    def changes(self, x: Tensor) -> tuple[Delta, None]:
        n_states = self.table.shape[1]

        def delta(x: Tensor, site: Tensor, token: Tensor) -> Tensor:
            first = site * n_states
            return self._entries(first + token) - self._entries(first + at_site(x, site))

        return delta, None

    def site_log_likelihood(self) -> Tensor:
        return self.table


def mismatches(prediction: Tensor, observed: Tensor) -> Tensor:
    """Number of entries that differ, for logical and categorical measurements."""
    return (prediction != observed).sum(-1).float()


def euclidean(prediction: Tensor, observed: Tensor) -> Tensor:
    """||G(x) - y||_2."""
    return torch.linalg.vector_norm((prediction - observed).float(), dim=-1)


def squared(prediction: Tensor, observed: Tensor) -> Tensor:
    """||G(x) - y||_2^2."""
    return (prediction - observed).float().square().sum(-1)
