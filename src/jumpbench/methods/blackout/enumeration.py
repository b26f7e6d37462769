"""Blackout on counts that can be enumerated: true conditional means, exact laws of samplers."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.processes.counts import log_binomial
from jumpbench.processes.observation_times import ObservationTimes

MAX_STATES = 4096
_LGAMMA = torch.lgamma(torch.arange(MAX_STATES + 2, dtype=torch.float64))

Steps = Callable[[Tensor, Tensor, float], Tensor]
"""Values x (S, D), expected losses y (S, D), revival -> laws of the next value (S, D, M + 1)."""


class EnumeratedCounts:
    """A law p0 on {0..M}^D and everything that pure death makes of it.

    Args:
        law: p0 with one axis of size M + 1 per site.

    Raises:
        UserError: not a law, axes of different sizes, or too many states.
    """

    def __init__(self, law: Tensor | Sequence) -> None:
        law = torch.as_tensor(law, dtype=torch.float64)
        if len(set(law.shape)) != 1 or law.numel() > MAX_STATES or len(law) < 2:
            raise UserError(
                f"a law of shape {tuple(law.shape)}: give equal axes, at most {MAX_STATES} states"
            )
        if (law < 0).any() or not torch.isclose(law.sum(), law.new_ones(())):
            raise UserError("a law has entries >= 0 that sum to 1")
        self.maximum = len(law) - 1
        self.law = law.flatten()
        values = torch.arange(len(law))
        self.states = torch.cartesian_prod(*[values] * law.ndim).view(-1, law.ndim)
        # log C(o, x), -inf where x > o: the law of o fair coins, without its factor 2^-o
        half = torch.tensor(0.5, dtype=torch.float64)
        choose = log_binomial(values, values.unsqueeze(1), half, half)
        self._choose = choose - values.unsqueeze(1) * half.log()

    def entropy(self) -> float:
        """H(p0) in nats."""
        return float(-torch.special.xlogy(self.law, self.law).sum())

    def site_kernel(self, survival: Tensor, loss: Tensor) -> Tensor:
        """log P(x | o) of one site, (M + 1, M + 1): row o, column x."""
        value = torch.arange(self.maximum + 1, dtype=torch.float64)
        survivors = torch.special.xlogy(value, survival)
        losses = torch.special.xlogy((value.unsqueeze(1) - value).clamp(min=0), loss)
        return self._choose + survivors + losses

    def joint(self, grid: ObservationTimes, k: int) -> Tensor:
        """log p(X_0 = states[i], X_(t_k) = states[j]), (S, S)."""
        site = self.site_kernel(grid.survival[k], grid.loss[k])
        total = self.law.log().unsqueeze(1).expand(-1, len(self.states)).clone()
        for d in range(self.states.shape[1]):
            column = self.states[:, d]
            total += site[column.unsqueeze(1), column]
        return total

    def marginal(self, grid: ObservationTimes, k: int) -> Tensor:
        """Law (S,) at t_k."""
        return self.joint(grid, k).logsumexp(0).exp()

    def posterior(self, grid: ObservationTimes, k: int) -> Tensor:
        """p(X_0 = states[i] | X_(t_k) = states[j]), (j, i); rows of impossible states are zero."""
        joint = self.joint(grid, k)
        total = joint.logsumexp(0)
        weights = torch.where(total.isfinite(), (joint - total).exp(), 0.0)
        return weights.T

    def lost(self, grid: ObservationTimes, k: int) -> Tensor:
        """E[X_0 - X_t | X_t] at t_k for every state, (S, D)."""
        posterior = self.posterior(grid, k)
        reachable = posterior.sum(-1, keepdim=True)
        return posterior @ self.states.double() - reachable * self.states

    def sampled_law(
        self,
        steps: Steps,
        grid: ObservationTimes,
        lost: Callable[[int], Tensor] | None = None,
        stride: int = 1,
        factors: Tensor | None = None,
        corrector: Callable[[int], Steps] | None = None,
        repeats: int = 2,
    ) -> Tensor:
        """Law (S,) of a sampler that moves all sites at once, started empty.

        Args:
            steps: law of one site's step, such as those below.
            lost: k -> y (S, D) of a model; by default the true conditional mean.
            factors: what ``steps`` gets for the revival (T + 1,), see :func:`textbook`.
            corrector: k -> law of a corrector step at t_k after one from t_(k + stride), applied
                ``repeats`` times.
        """
        factors = grid.revival(stride) if factors is None else factors
        lost = lost or (lambda k: self.lost(grid, k))
        law = (self.states == 0).all(1).double()
        for k in grid.visits(stride):
            law = law @ self.step_matrix(steps(self.states, lost(k).double(), float(factors[k])))
            if corrector is not None and k > stride:
                sites = corrector(k - stride)(self.states, lost(k - stride).double(), 0.0)
                matrix = self.step_matrix(sites)
                for _ in range(repeats):
                    law = law @ matrix
        return law

    def step_matrix(self, sites: Tensor) -> Tensor:
        """(S, S) of independent sites with laws (S, D, M + 1) of their next values."""
        matrix = sites[:, 0]
        for d in range(1, sites.shape[1]):
            matrix = (matrix.unsqueeze(-1) * sites[:, d].unsqueeze(1)).flatten(1)
        return matrix

    def exact_law(self, grid: ObservationTimes, stride: int = 1) -> Tensor:
        """Law (S,) of the bridge with X_0 drawn from its posterior: p0, up to P(X_T > 0)."""
        revival = grid.revival(stride)
        law = (self.states == 0).all(1).double()
        for k in grid.visits(stride):
            r = revival[k]
            site = torch.stack([_shifted(n, r, self.maximum) for n in range(self.maximum + 1)])
            after = torch.zeros_like(law)
            posterior = self.posterior(grid, k) * law.unsqueeze(1)  # (x, o), weighted
            for j in range(len(self.states)):
                x = self.states[j]
                gone = (self.states - x).clamp(min=0)
                sites = torch.stack(
                    [site[gone[:, d], :].roll(int(x[d]), -1) for d in range(len(x))], dim=1
                )
                after += posterior[j] @ self.step_matrix(sites)
            law = after
        return law


def _shifted(count: int, r: Tensor, maximum: int) -> Tensor:
    """Law (M + 1,) of Binomial(count, r)."""
    values = torch.arange(maximum + 1)
    return log_binomial(values, torch.tensor(count), r, 1 - r).exp()


def smooth_levels(maximum: int = 255) -> Tensor:
    """Two broad bumps, 0.6 N(0.275 M, (0.1 M)^2) + 0.4 N(0.745 M, (0.08 M)^2) on 0..M, (M + 1,)."""
    share = torch.arange(maximum + 1, dtype=torch.float64) / maximum
    bumps = ((0.6, 70 / 255, 25 / 255), (0.4, 190 / 255, 20 / 255))
    law = torch.stack([w / s * torch.exp(-0.5 * ((share - m) / s) ** 2) for w, m, s in bumps])
    return law.sum(0) / law.sum()


def transport_distance(p: Tensor, q: Tensor) -> float:
    """Wasserstein-1 distance of two laws on 0..M, in units of a count."""
    return float((p - q).cumsum(0).abs().sum())


# Laws of one site's step, (S, D, M + 1), for the samplers of samplers/counts.py


def bridge_steps(maximum: int, stochastic: bool) -> Steps:
    """The binomial bridge with nearest or stochastic rounding."""

    def steps(x: Tensor, y: Tensor, revival: float) -> Tensor:
        y = torch.minimum(y.clamp(min=0), maximum - x.double())
        low = y.floor() if stochastic else y.round()
        law = _binomial_from(x, low, revival, maximum)
        if stochastic:
            part = (y - low).unsqueeze(-1)
            higher = torch.minimum(low + 1, maximum - x.double())
            law = (1 - part) * law + part * _binomial_from(x, higher, revival, maximum)
        return law

    return steps


def textbook(grid: ObservationTimes, stride: int = 1) -> Tensor:
    """(t_k - t_(k-stride)) e^(-t_k) / (1 - e^(-t_k)), (T + 1,): tau-leaping with frozen rates."""
    index = torch.arange(grid.steps + 1)
    step = grid.times - grid.times[(index - stride).clamp(min=0)]
    return torch.where(index > 0, step * grid.survival / grid.loss, 0.0)


def poisson_steps(maximum: int) -> Steps:
    """Clipped Poisson leaps of mean y r."""

    def steps(x: Tensor, y: Tensor, revival: float) -> Tensor:
        y = torch.minimum(y.clamp(min=0), maximum - x.double())
        return _poisson_from(x, y * revival, maximum)

    return steps


def corrector_steps(
    maximum: int, grid: ObservationTimes, size: float, stride: int = 1
) -> Callable[[int], Steps]:
    """k -> law of births and deaths at t_k, as :class:`jumpbench.samplers.counts.Corrector`."""

    def at(k: int) -> Steps:
        h = size * float(grid.times[k + stride] - grid.times[k])
        rate = h * float(grid.survival[k] / grid.loss[k])
        dying = torch.tensor(h, dtype=torch.float64).neg().expm1().neg()

        def steps(x: Tensor, y: Tensor, revival: float) -> Tensor:
            y = torch.minimum(y.clamp(min=0), maximum - x.double())
            value = torch.arange(maximum + 1)
            left = log_binomial(x.unsqueeze(-1) - value, x.unsqueeze(-1), dying, 1 - dying).exp()
            origin = value.view(-1, 1).expand(*y.shape, maximum + 1, 1)
            mean = (y * rate).unsqueeze(-1).expand(*y.shape, maximum + 1)
            # births at a site with x units, d of which die: x - d + births, clipped at M
            gained = _poisson_from(origin.squeeze(-1), mean, maximum)
            return (left.unsqueeze(-2) @ gained).squeeze(-2)

        return steps

    return at


def _lgamma(n: Tensor) -> Tensor:
    """log Gamma of integers, looked up: most of the time of a law of 256 levels otherwise."""
    return _LGAMMA[n.long()]


def _binomial_from(x: Tensor, count: Tensor, revival: float, maximum: int) -> Tensor:
    value = torch.arange(maximum + 1)
    r = torch.tensor(revival, dtype=torch.float64)
    return log_binomial(value - x.unsqueeze(-1), count.unsqueeze(-1), r, 1 - r, _lgamma).exp()


def _poisson_from(x: Tensor, mean: Tensor, maximum: int) -> Tensor:
    """Law (..., M + 1) of min(x + Poisson(mean), M)."""
    mean = mean.unsqueeze(-1)
    births = torch.arange(maximum + 1, dtype=torch.float64) - x.unsqueeze(-1)
    log = torch.special.xlogy(births, mean) - mean - _lgamma(births.clamp(min=0) + 1)
    law = torch.where(births >= 0, log.exp(), 0.0)
    law[..., -1] = 0.0
    law[..., -1] = 1 - law.sum(-1)
    return law
