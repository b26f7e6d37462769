"""What is known about x besides the prior: log p(y|x) of a measurement, or a reward.

A user gives a function of states (B, D). All samplers of this package need
:meth:`Likelihood.log_likelihood` only; ``changes`` and ``site_log_likelihood`` let them be faster,
or exact, where the likelihood has structure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.targets.changes import BlockStep, Commit, Delta, LogProbDelta, at_site

Misfit = Callable[[Tensor, Tensor], Tensor]

IMPOSSIBLE = -1e12
"""What -inf becomes: so low that it is never preferred to a likelihood in use, and finite, so that
two impossible states differ by 0 and a mean over draws still counts how many are impossible."""


def check_sigma(sigma: float, error: type[Exception] = ValueError) -> None:
    """Refuse a noise scale that is not positive: its likelihood would reward contradictions.

    Raises:
        ValueError: it is not; :class:`~jumpbench.errors.UserError` where settings are read.
    """
    if not sigma > 0:
        raise error(f"sigma is {sigma}; a likelihood needs sigma > 0")


class Likelihood(ABC):
    """log p(y|x) up to a constant, as a function of integer states.

    Attributes:
        n_observations: None if all chains share one measurement; else each chain has its own,
            and this is their number.
    """

    n_observations: int | None = None

    @abstractmethod
    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        """log p(y|x) (B,) of states (B, D), ``long``; may be -inf.

        ``rows`` (B,) says which measurement each state is held against, None where all share one.
        """

    @torch.no_grad()
    def log_likelihood(self, x: Tensor, chains: Tensor | None = None) -> Tensor:
        """(B, ..., D) -> (B, ...), float64 and finite: -inf is :data:`IMPOSSIBLE`.

        The leading axis is that of the chains; further axes hold candidates, particles or
        neighbours of one chain, which share its measurement. ``chains`` (B,) numbers the chains,
        0, 1, ... by default.

        Raises:
            ValueError: NaN or +inf; another shape than (B,); another number of chains than of
                measurements.
        """
        flat = x.reshape(-1, x.shape[-1]).long()
        rows = None
        if self.n_observations is not None:
            rows = self._rows(x, chains).repeat_interleave(len(flat) // len(x))
        values = self.evaluate(flat, rows)
        if values.shape != flat.shape[:1]:
            raise ValueError(
                f"the likelihood of {len(flat)} states (B, D) has shape {tuple(values.shape)}; "
                f"return one number a state, ({len(flat)},)"
            )
        values = values.double()
        values = torch.where(values == -torch.inf, IMPOSSIBLE, values)
        require(values.isfinite(), "a likelihood or reward is NaN or +inf; return finite or -inf")
        return values.view(x.shape[:-1])

    def _rows(self, x: Tensor, chains: Tensor | None) -> Tensor:
        if chains is None:
            self.check_chains(len(x))
            return torch.arange(len(x), device=x.device)
        if len(chains) != len(x):
            raise ValueError(f"{len(chains)} chain numbers for {len(x)} chains; give one each")
        return chains.to(x.device)

    def check_chains(self, n_chains: int) -> None:
        """Raises ValueError unless there is one measurement for all, or one for each chain."""
        if self.n_observations not in (None, n_chains):
            raise ValueError(
                f"{n_chains} chains, but measurements for {self.n_observations}; give one for "
                "all, or as many chains as measurements"
            )

    def changes(self, x: Tensor) -> tuple[Delta, Commit | None]:
        """How one-site proposals change log p(y|x), for a Metropolis chain that starts at x (B, D).

        A function ``delta(x, site, token) -> (B,)``, and what to call after each step, if
        anything. Here: one evaluation of ``log_likelihood`` per proposal.
        """
        delta = LogProbDelta(self.log_likelihood, x)
        return delta, delta.commit

    def relaxed(self, weights: Tensor) -> Tensor:
        """log p(y|x) (B,) as a smooth function of weights (B, D, N) over symbols, its own value
        where they are one-hot: what guidance by gradients (CG, TDS, DRAKES) differentiates.

        Raises:
            ValueError: there is no such function.
        """
        raise ValueError(
            f"a {type(self).__name__} has no gradient; CG and TDS need a Reward whose function "
            "also takes weights (B, D, N) over symbols"
        )

    def site_log_likelihood(self) -> Tensor | None:
        """Table (D, N), or (B, D, N) with one for each chain, whose entries at x sum to
        log p(y|x); None if there is none."""
        return None


class InverseProblem(Likelihood):
    """log p(y|x) = -misfit(G(x), y) / sigma (SGDD sec. 4.1).

    Args:
        operator: G, states (B, D), ``long``, to predictions (B, m).
        observed: y: (m,) for all chains, or (B, m) with one measurement for each chain.
        misfit: how far predictions lie from y; (B, m) and (m,) or (B, m) -> (B,).
        sigma: noise scale, in the units of the misfit.

    Raises:
        ValueError: ``sigma`` is not positive; ``observed`` has other than one or two dimensions.
    """

    def __init__(
        self, operator: Callable[[Tensor], Tensor], observed: Tensor, misfit: Misfit, sigma: float
    ) -> None:
        check_sigma(sigma)
        if observed.ndim not in (1, 2):
            raise ValueError(f"observed is (m,) or (chains, m), not {tuple(observed.shape)}")
        self.operator, self.observed, self.misfit, self.sigma = operator, observed, misfit, sigma
        self.n_observations = len(observed) if observed.ndim == 2 else None

    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        self.observed = self.observed.to(x.device)
        observed = self.observed if rows is None else self.observed[rows]
        prediction = self.operator(x)
        if prediction.shape != (len(x), self.observed.shape[-1]):
            raise ValueError(
                f"the operator predicts {tuple(prediction.shape)} for {len(x)} states; the "
                f"measurement asks for ({len(x)}, {self.observed.shape[-1]})"
            )
        return self.misfit(prediction, observed) / -self.sigma


class Reward(Likelihood):
    """log p(y|x) = beta r(x), for any function r from states (B, D), ``long``, to numbers (B,).

    For guidance by gradients r also takes weights (B, D, N) over symbols.
    """

    def __init__(self, reward: Callable[[Tensor], Tensor], beta: float = 1.0) -> None:
        self.reward, self.beta = reward, beta

    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        return self.beta * self.reward(x)

    def relaxed(self, weights: Tensor) -> Tensor:
        return self.beta * self.reward(weights)


class SiteLikelihood(Likelihood):
    """log p(y|x) = sum_i table[i, x_i]: every site is measured on its own.

    ``table`` is (D, N), or (B, D, N) with one for each chain; entries may be -inf. The exact
    likelihood step and O(1) changes are then available.
    """

    def __init__(self, table: Tensor) -> None:
        if table.ndim not in (2, 3):
            raise ValueError(
                f"the table of a site likelihood is (D, N) or (chains, D, N), not "
                f"{tuple(table.shape)}"
            )
        if bool((table.isnan() | (table == torch.inf)).any()):
            raise ValueError("the table of a site likelihood has NaN or +inf entries")
        self.table = torch.where(table == -torch.inf, IMPOSSIBLE, table.double())
        self.n_observations = len(table) if table.ndim == 3 else None
        length, self.n_states = table.shape[-2:]
        self._flat = self.table.float().reshape(-1)
        integer = torch.int32 if table.numel() < 2**31 else torch.int64
        self._first = torch.arange(length, dtype=integer) * self.n_states

    @classmethod
    def infill(
        cls, observed: Tensor, mask: Tensor, n_states: int, sigma: float
    ) -> "SiteLikelihood":
        """-(number of observed sites that differ) / sigma.

        ``observed`` is (D,) or (B, D) and ``mask``, True at observed sites, broadcasts to it.

        Raises:
            ValueError: ``sigma`` is not positive.
        """
        check_sigma(sigma)
        differs = observed[..., None] != torch.arange(n_states, device=observed.device)
        return cls(-(differs & mask[..., None]).double() / sigma)

    def _entries(self, cell: Tensor) -> Tensor:
        if self._flat.device != cell.device:
            self._flat = self._flat.to(cell.device)
        return self._flat.index_select(0, cell.reshape(-1)).view(cell.shape)

    def evaluate(self, x: Tensor, rows: Tensor | None) -> Tensor:
        cell = x + self._first.to(x.device)
        if rows is not None:
            cell = cell + rows[:, None] * (self.table.shape[1] * self.n_states)
        return self._entries(cell).double().sum(-1)

    def changes(self, x: Tensor) -> tuple[Delta, None]:
        self.check_chains(len(x))
        start = None
        if self.n_observations is not None:
            start = torch.arange(len(x), device=x.device) * (x.shape[1] * self.n_states)
        return _SiteDelta(self._entries, self.n_states, start), None

    def site_log_likelihood(self) -> Tensor:
        return self.table


class _SiteDelta:
    """``delta`` of a table of sites; ``start`` (B,) is where each chain's own table begins."""

    def __init__(
        self, entries: Callable[[Tensor], Tensor], n_states: int, start: Tensor | None
    ) -> None:
        self.entries, self.n_states, self.start = entries, n_states, start

    def _first(self, site: Tensor) -> Tensor:
        first = site * self.n_states
        return first if self.start is None else first + self.start

    def __call__(self, x: Tensor, site: Tensor, token: Tensor) -> Tensor:
        first = self._first(site)
        return self.entries(first + token) - self.entries(first + at_site(x, site))

    def block(self, sites: Tensor, tokens: Tensor, indices: Tensor) -> BlockStep:
        first = self._first(sites)
        entered = self.entries(first + tokens).unbind(0)
        firsts = first.unbind(0)
        return lambda k, x, old: entered[k] - self.entries(firsts[k] + old)


def mismatches(prediction: Tensor, observed: Tensor) -> Tensor:
    """Number of entries that differ, for logical and categorical measurements."""
    return (prediction != observed).sum(-1)


def euclidean(prediction: Tensor, observed: Tensor) -> Tensor:
    """||G(x) - y||_2, in float64: small sigma multiply what float32 would round away."""
    return torch.linalg.vector_norm((prediction - observed).double(), dim=-1)


def squared(prediction: Tensor, observed: Tensor) -> Tensor:
    """||G(x) - y||_2^2, in float64."""
    return (prediction - observed).double().square().sum(-1)
