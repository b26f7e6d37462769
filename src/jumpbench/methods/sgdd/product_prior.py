"""Independent sites that are alike: the prior in closed form."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.sgdd.prior import Prior, Transition, clean_grid, counted
from jumpbench.methods.sgdd.site_kernel import SiteKernel
from jumpbench.processes.uniform import UniformProcess


class ProductPrior(Prior):
    """Independent sites with the law ``law`` (N,): everything is closed form, per site.

    p_t = e^-sigma law + (1 - e^-sigma)/N, and any number of reverse steps composes once into one
    N x N matrix, so a whole prior step is one categorical draw per site.

    Raises:
        ValueError: ``law`` is not a vector of positive numbers.
    """

    def __init__(self, law: Tensor | Sequence[float], length: int, **options: Any) -> None:
        law = torch.as_tensor(law, dtype=torch.float64)
        if law.ndim != 1 or not bool((law > 0).all()):
            raise ValueError("the law of a product prior is a vector (N,) of positive numbers")
        super().__init__(UniformProcess(law.numel()), length, **options)
        self.law = law / law.sum()

    def score(self, x: Tensor, t: float) -> Tensor:
        marginal = self.process.propagate(self.law[None], self.schedule.total(t))[0].to(x.device)
        return marginal / marginal[x.long()][..., None]

    def relaxed_score(self, weights: Tensor, t: float) -> Tensor:
        marginal = self.process.propagate(self.law[None], self.schedule.total(t))[0]
        return marginal.to(weights.device, weights.dtype).expand_as(weights)

    def noise(self, n_chains: int, generator: torch.Generator) -> Tensor:
        return super().noise(n_chains, generator).to(torch.int32)

    def _symbols(self) -> Tensor:
        return torch.arange(self.n_states)[:, None]

    def step_matrix(self, t: float, s: float) -> Tensor:
        """One reverse step of one site as a matrix (N, N), row = from."""
        return self.step_probabilities(self._symbols(), t, s)[:, 0]

    def clean_matrix(self, times: Sequence[float]) -> Tensor:
        """Reverse steps along ``times`` and the denoising draw, composed: (N, N)."""
        matrix = self.clean_probabilities(self._symbols(), times[-1])[:, 0]
        for t, s in reversed(list(pairwise(times))):
            matrix = self.step_matrix(t, s) @ matrix
        return matrix

    def reverse_steps(self, times: Sequence[float]) -> Sequence[Transition]:
        matrices = torch.stack([self.step_matrix(t, s) for t, s in pairwise(times)])
        return SiteKernel.stack(matrices, network_calls=1)

    def denoisers(self, times: Sequence[float], n_steps: int) -> Sequence[Transition]:
        grids = [clean_grid(t, n_steps) for t in times]
        matrices = torch.stack([self.clean_matrix(grid) for grid in grids])
        kernels = SiteKernel.stack(matrices)
        for kernel, grid in zip(kernels, grids, strict=True):
            kernel.network_calls, kernel.counted_calls = len(grid), counted(grid)
        return kernels
