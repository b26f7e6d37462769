"""Values of noisy states: log p(y|x_0) of clean draws, one draw per site where sites factor."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import IMPOSSIBLE, Likelihood
from jumpbench.methods.sgdd.prior import Transition
from jumpbench.methods.sgdd.site_kernel import SiteKernel

MeanValue = Callable[[Tensor, Tensor, torch.Generator], Tensor]
_MOST_SUMS = 4096
_TOGETHER = 16


def mean_values(
    denoisers: Sequence[Transition], likelihood: Likelihood, n_draws: int
) -> list[MeanValue]:
    """For each denoiser, a function from x (B, ..., D) to the mean of log p(y|x_0) (B, ...).

    It is called with the numbers (B,) of the chains that the rows of x belong to.

    The mean is over ``n_draws`` independent clean draws per state. If moves and likelihood factor
    over sites, the sum of a site's terms is drawn in one go from its exact law
    (:class:`SiteSums`); the result has the same law either way.
    """
    table = likelihood.site_log_likelihood()
    kernels = [denoiser for denoiser in denoisers if isinstance(denoiser, SiteKernel)]
    if table is not None and len(kernels) == len(denoisers):
        sums = SiteSums.of(table, n_draws)
        if sums is not None:
            return sums.mean_values(kernels)

    def direct(denoiser: Transition) -> MeanValue:
        def mean_value(x: Tensor, chains: Tensor, generator: torch.Generator) -> Tensor:
            draws = (denoiser(x, generator) for _ in range(n_draws))
            return torch.stack([likelihood.log_likelihood(x0, chains) for x0 in draws]).mean(0)

        return mean_value

    return [direct(denoiser) for denoiser in denoisers]


class SiteSums:
    """Laws of the sum of one site's log-likelihood over independent clean draws.

    Args:
        rows: the distinct rows (U, N) of the table of site log-likelihoods.
        row_of_site: which of them each site has, (D,).
        n_draws: number of terms.
    """

    def __init__(self, rows: Tensor, row_of_site: Tensor, n_draws: int) -> None:
        self.n_draws = n_draws
        self.row_of_site = row_of_site.to(torch.int32)
        self.n_states = rows.shape[1]
        self.values, self.first, self.ways = [], [], []
        for row in rows:
            values, index = _distinct(row)
            one = torch.nn.functional.one_hot(index, len(values)).double()  # symbol -> value
            support, ways = values, []
            for _ in range(n_draws - 1):
                support, onto = _distinct((support[:, None] + values).reshape(-1))
                ways.append((onto, len(support)))
            self.values.append(support)
            self.first.append(one)
            self.ways.append(ways)

    @classmethod
    def of(cls, table: Tensor, n_draws: int) -> "SiteSums | None":
        """For a table (D, N); None if there are too many different sums to tabulate, if each
        chain has a table of its own, or if some values are impossible: they leave no digits.
        """
        if table.ndim != 2 or bool((table <= IMPOSSIBLE).any()):
            return None
        rows, row_of_site = table.double().cpu().unique(dim=0, return_inverse=True)
        most = max(len(_distinct(row)[0]) for row in rows)
        if most**n_draws > 2**22:
            return None
        sums = cls(rows, row_of_site, n_draws)
        return sums if max(map(len, sums.values)) <= _MOST_SUMS else None

    def law(self, matrix: Tensor, row: int) -> Tensor:
        """Probabilities (N, S) of the sums, for every symbol that ``matrix`` (N, N) denoises."""
        single = matrix.double().cpu() @ self.first[row]
        law = single
        for onto, size in self.ways[row]:
            pairs = (law[:, :, None] * single[:, None, :]).flatten(1)
            law = torch.zeros(len(law), size, dtype=torch.float64).index_add_(1, onto, pairs)
        return law

    def mean_values(self, denoisers: Sequence[SiteKernel]) -> list[MeanValue]:
        width = max(map(len, self.values))
        pad = [torch.nn.functional.pad(v, (0, width - len(v))) for v in self.values]
        means = (torch.stack(pad) / self.n_draws).float().reshape(-1)
        functions = []
        for start in range(0, len(denoisers), _TOGETHER):
            laws = [self._laws(d.matrix, width) for d in denoisers[start : start + _TOGETHER]]
            functions += [
                self._mean_value(kernel, means, width)
                for kernel in SiteKernel.stack(torch.stack(laws))
            ]
        return functions

    def _laws(self, matrix: Tensor, width: int) -> Tensor:
        laws = [self.law(matrix, row) for row in range(len(self.values))]
        return torch.cat([torch.nn.functional.pad(w, (0, width - w.shape[1])) for w in laws])

    def _mean_value(self, kernel: SiteKernel, means: Tensor, width: int) -> MeanValue:
        alike = len(self.values) == 1

        def mean_value(x: Tensor, chains: Tensor, generator: torch.Generator) -> Tensor:
            rows = self.row_of_site.to(x.device)
            outcome = kernel(x if alike else x + rows * self.n_states, generator)
            outcome = outcome if alike else outcome + rows * width
            terms = means.to(x.device).index_select(0, outcome.reshape(-1))
            return terms.view(x.shape).sum(-1)

        return mean_value


def _distinct(values: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct entries up to rounding, ascending, and which of them each entry is."""
    ascending, order = values.sort()
    new = torch.ones_like(order)
    new[1:] = ascending.diff() > 1e-10 * values.abs().max()
    index = torch.empty_like(order)
    index[order] = new.cumsum(0) - 1
    return ascending[new.bool()], index
