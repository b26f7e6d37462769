"""XOR and AND of pairs of pixels of a binary image (SGDD sec. 4.3)."""

import torch

from jumpbench.data.tokens import Batch
from jumpbench.methods.sgdd.pair_likelihood import Operator, PairLikelihood, random_pairs


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

    def measured(self, x: torch.Tensor) -> torch.Tensor:
        """The measurement (B, p) of states (B, D)."""
        i, j = self.pairs.to(x.device)
        return self.operator(x[:, i], x[:, j])

    def likelihood(self, batch: Batch) -> PairLikelihood:
        observed = self.measured(batch["states"])
        return PairLikelihood(self.pairs, observed, self.operator, self.sigma, self.length)

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])
