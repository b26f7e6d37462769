"""XOR and AND of pairs of pixels of a binary image (SGDD sec. 4.3), and XORs of a few bits."""

import torch

from jumpbench.data.tokens import Batch
from jumpbench.methods.sgdd.pair_likelihood import (
    Incidence,
    Operator,
    PairLikelihood,
    exclusive_or,
    random_pairs,
)
from jumpbench.seeding import make_generator
from jumpbench.targets.enumeration import all_states


class PairProblem:
    """Each image of a batch is measured at the same random pairs, without noise.

    Args:
        side: of the image; D = side^2.
        share: pairs per site (gamma): 0.5 for XOR and 4 for AND in the paper's code.
        operator: of two bits.
        sigma: noise scale of the likelihood; 1e-4 is 10,000 nats a mismatch (paper's code).
        seed: of the pairs.
    """

    n_states = 2

    def __init__(
        self, side: int, share: float, operator: Operator, sigma: float = 1e-4, seed: int = 0
    ) -> None:
        self.length, self.operator, self.sigma = side**2, operator, sigma
        self.pairs = random_pairs(self.length, share, seed)
        self.incidence = Incidence.of(self.pairs, self.length)

    def measured(self, x: torch.Tensor) -> torch.Tensor:
        """The measurement (B, p) of states (B, D)."""
        i, j = self.pairs.to(x.device)
        return self.operator(x[:, i], x[:, j])

    def likelihood(self, batch: Batch) -> PairLikelihood:
        observed = self.measured(batch["states"])
        return PairLikelihood(
            self.pairs, observed, self.operator, self.sigma, self.length, self.incidence
        )

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])


class PairPosterior:
    """A toy with an exact posterior: bits of a biased prior, seen through noisy XORs of pairs.

    The pairs and a true state are drawn after the seed; log p(y|x) = -(mismatches) / sigma.

    Args:
        length: D, from 2 to 20.
        share: pairs per site.
        ones: prior probability of a 1.
        sigma: one over the nats of a mismatch.
        seed: of the pairs and of the measured state.
    """

    n_states = 2

    def __init__(
        self, length: int, share: float = 1.0, ones: float = 0.3, sigma: float = 0.5,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.length, self.sigma = length, sigma
        self.law = torch.tensor([1 - ones, ones], dtype=torch.float64)
        self.pairs = random_pairs(length, share, seed)
        coins = torch.rand(length, generator=make_generator(seed, "measured state"))
        state = (coins < ones).long()
        self.observed = state[self.pairs[0]] ^ state[self.pairs[1]]

    def likelihood(self, batch: torch.Tensor | None = None) -> PairLikelihood:
        return PairLikelihood(self.pairs, self.observed, exclusive_or, self.sigma, self.length)

    def n_chains(self, batch: torch.Tensor) -> int:
        return len(batch)

    def marginal(self) -> torch.Tensor:
        """Exact posterior law of the first two sites, float64 (2, 2), over all 2^D states."""
        x = all_states(self.length, 2).long()
        log_p = self.law.log()[x].sum(-1) + self.likelihood().evaluate(x, None)
        pair = torch.zeros(4, dtype=torch.float64)
        return pair.index_add_(0, 2 * x[:, 0] + x[:, 1], log_p.softmax(0)).view(2, 2)

    def prior_marginal(self) -> torch.Tensor:
        return torch.outer(self.law, self.law)
