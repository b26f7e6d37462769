"""The closed-form problem of SGDD's Table 2: a Gaussian on a grid, seen through |x - centre|.

Prior: D independent sites on N grid points g_j = -5 + 10 j/(N-1), w_j ~ exp(-g_j^2 / (2 width^2)).
Measurement: h(j) = |j - (N-1)/2| in index units, observed 8.5 at every site. The paper, its
released operator and its table do not say the same about how the sites combine, so the three
readings are three classes; :class:`SumReading` is the one that comes nearest to the table.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import (
    InverseProblem,
    Likelihood,
    SiteLikelihood,
    check_sigma,
    squared,
)
from jumpbench.methods.sgdd.product_prior import ProductPrior


def gaussian_grid(n_states: int = 50, width: float = 2.0) -> Tensor:
    """w_j ~ exp(-g_j^2 / (2 width^2)) on N points of [-5, 5]; float64 (N,), sums to 1."""
    grid = torch.linspace(-5, 5, n_states, dtype=torch.float64)
    weights = torch.exp(-(grid**2) / (2 * width**2))
    return weights / weights.sum()


class GridPosterior(ABC):
    """The posterior p(x) p(y|x) of one reading of the likelihood.

    Args:
        length: number of sites D, at least 2.
        n_states: see :func:`gaussian_grid`.
        width: likewise.
        observed: y_i of every site, in index units.
        sigma: noise scale; the likelihood's exponent is divided by sigma^2.

    Raises:
        UserError: fewer than two sites (the metrics look at the first two); sigma not positive.
    """

    def __init__(
        self,
        length: int,
        n_states: int = 50,
        width: float = 2.0,
        observed: float = 8.5,
        sigma: float = 3.0,
    ) -> None:
        if length < 2:
            raise UserError(f"length is {length}; the synthetic posterior needs length >= 2")
        check_sigma(sigma, UserError)
        self.length, self.n_states = length, n_states
        self.observed, self.sigma = observed, sigma
        self.law = gaussian_grid(n_states, width)
        centre = (n_states - 1) / 2
        self.distance = (torch.arange(n_states, dtype=torch.float64) - centre).abs()

    @abstractmethod
    def likelihood(self, batch: Tensor | None = None) -> Likelihood:
        """log p(y|x), the same for all chains."""

    def n_chains(self, batch: Tensor) -> int:
        return len(batch)

    @abstractmethod
    def marginal(self) -> Tensor:
        """Exact posterior law of the first two sites, float64 (N, N)."""

    def prior_marginal(self) -> Tensor:
        """Their law under the prior, float64 (N, N)."""
        return torch.outer(self.law, self.law)


class SumReading(GridPosterior):
    """log p(y|x) = -(1/sigma^2) sum_i (h(x_i) - y_i)^2: sites stay independent."""

    def exponent_scale(self) -> float:
        return 1 / self.sigma**2

    def site_table(self) -> Tensor:
        """log p(y_i|x_i), (N,)."""
        return -self.exponent_scale() * (self.distance - self.observed) ** 2

    def likelihood(self, batch: Tensor | None = None) -> SiteLikelihood:
        return SiteLikelihood(self.site_table().expand(self.length, self.n_states))

    def marginal(self) -> Tensor:
        site = self.law * self.site_table().exp()
        site = site / site.sum()
        return torch.outer(site, site)


class MeanReading(SumReading):
    """As :class:`SumReading` with the mean over sites: the measurement weakens as D grows."""

    def exponent_scale(self) -> float:
        return 1 / (self.length * self.sigma**2)


class NormReading(GridPosterior):
    """log p(y|x) = -(1/sigma^2) (sum_i h(x_i) - D y)^2: one number for all sites."""

    def likelihood(self, batch: Tensor | None = None) -> InverseProblem:
        distance = self.distance.float()

        def norm(x: Tensor) -> Tensor:
            return distance.to(x.device)[x].sum(-1, keepdim=True)

        total = torch.tensor([self.length * self.observed], dtype=torch.float32)
        return InverseProblem(norm, total, squared, self.sigma**2)

    def marginal(self) -> Tensor:
        # Distances lie on a grid of step 1 above their smallest value: convolve D - 2 sites.
        lowest = self.distance.min()
        steps = (self.distance - lowest).round().long()
        site = torch.zeros(int(steps.max()) + 1, dtype=torch.float64)
        site.index_add_(0, steps, self.law)
        rest = torch.ones(1, dtype=torch.float64)
        for _ in range(self.length - 2):
            rest = torch.nn.functional.conv1d(
                rest[None, None], site.flip(0)[None, None], padding=site.numel() - 1
            )[0, 0]
        others = torch.arange(rest.numel(), dtype=torch.float64) + (self.length - 2) * lowest
        pair = self.distance[:, None] + self.distance
        misfit = (pair[..., None] + others - self.length * self.observed) ** 2
        joint = torch.outer(self.law, self.law) * (torch.exp(-misfit / self.sigma**2) @ rest)
        return joint / joint.sum()


def grid_prior(problem: GridPosterior, **options: Any) -> ProductPrior:
    """The diffusion prior of a grid problem, in closed form; ``options`` as for any prior."""
    return ProductPrior(problem.law, problem.length, **options)
