"""Scores from a network that predicts clean symbols."""

import torch
from torch import Tensor, nn

from jumpbench.processes.base import SiteProcess


class DenoisingScores(nn.Module):
    """Log-scores of a network whose outputs are logits of the clean symbols.

    The score is E over x_0 of P(v | x_0) / P(x_i | x_0), site by site: the network need not learn
    how the ratios scale with the noise, over five orders of magnitude, and learns from little.

    Args:
        network: states (B, D) and noise (B,) -> logits (B, D, N). For a masked process the mask's
            logit is ignored.
        process: forward process of a site.
    """

    def __init__(self, network: nn.Module, process: SiteProcess) -> None:
        super().__init__()
        self.network, self.process = network, process

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """Log-scores (B, D, N), float32."""
        logits = self.network(x, noise).float()
        mask = getattr(self.process, "mask", None)
        if mask is not None:
            logits = logits.index_fill(-1, torch.tensor(mask, device=x.device), -torch.inf)
        score = self.process.score(x, logits.softmax(-1), noise.float())
        # Impossible moves have weight 0 in every use; any finite number will do for them.
        return score.clamp(min=torch.finfo(torch.float32).tiny).log()
