"""Generalised Plackett-Luce (GPL): a separate score row for every output position."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised_likelihood import (
    generalised_log_likelihood,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised_sampling import (
    rows_by_argmax,
    sample_rows,
)
from jumpbench.methods.symmetric_diffusers.distributions.inner_beam import inner_beam


class GeneralisedPlackettLuce(PermutationDistribution):
    """``log p(sigma) = sum_i [S_{i,sigma(i)} - logsumexp_{j >= i} S_{i,sigma(j)}]``.

    Scores ``(*batch, n, n)``: row i = output position, column j = index in the current list.
    -inf forbids an entry (for instance to pin an object); a permutation must remain possible.
    Equal rows give Plackett-Luce. ``greedy`` takes the best remaining column row by row, which
    need not be the mode.
    """

    score_axes = 2

    def log_prob(self, sigma: Tensor) -> Tensor:
        return generalised_log_likelihood(self.scores, sigma)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        return sample_rows(self.scores, (*sample_shape, *self.batch_shape), generator)

    @torch.no_grad()
    def greedy(self) -> Tensor:
        return rows_by_argmax(self.scores, self.batch_shape, None)

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        return inner_beam(self.scores.reshape(-1, self.n, self.n), width, keep, self.batch_shape)
