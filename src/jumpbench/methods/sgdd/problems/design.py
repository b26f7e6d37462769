"""Sequences that an oracle predicts to be active (SGDD's Table 3)."""

from pathlib import Path

from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.data.tokens import Batch
from jumpbench.methods.sgdd.likelihoods import Reward


class DesignProblem:
    """log p(y|x) = beta r(x), r being one output of a trained oracle; one chain per row of a batch.

    Args:
        oracle: sequences (B, D), or weights (B, D, N) over symbols, -> activities (B, k).
        weights: folder of the run that trained it; None: as it is.
        length: D.
        n_states: N.
        beta: strength of the guidance.
        head: which activity.

    Raises:
        UserError: weights that are missing or do not fit.
    """

    def __init__(
        self,
        oracle: nn.Module,
        length: int,
        weights: str | Path | None = None,
        n_states: int = 4,
        beta: float = 30.0,
        head: int = 0,
    ) -> None:
        self.oracle = load_weights(oracle, weights).requires_grad_(False).eval()
        self.length, self.n_states, self.beta, self.head = length, n_states, beta, head

    def reward(self, x: Tensor) -> Tensor:
        """Predicted activity (B,)."""
        if next(self.oracle.parameters()).device != x.device:
            self.oracle.to(x.device)
        return self.oracle(x)[:, self.head]

    def likelihood(self, batch: Batch) -> Reward:
        return Reward(self.reward, self.beta)

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])
