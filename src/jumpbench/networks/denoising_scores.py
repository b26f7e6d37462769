"""Scores from a network that predicts clean symbols."""

import torch
from torch import Tensor, nn

from jumpbench.ops.categorical import symbols_of
from jumpbench.ops.precision import at_least_single
from jumpbench.processes.base import SiteProcess


class DenoisingScores(nn.Module):
    """Log-scores of a network whose outputs are logits of x_0 at a site, given the other sites.

    With w that law and m = sum_u w_u P(. | u) its noised form, the score is m_v / m_{x_i}, exactly.
    So the network need not learn how ratios scale with the noise, over five orders of magnitude,
    nor to keep at little noise what it sees: with outputs 0 it is right for independent uniform
    symbols at every noise.

    Args:
        network: states (B, D) and noise (B,) -> logits (B, D, N). For a masked process the mask's
            logit is ignored.
        process: forward process of a site.
    """

    def __init__(self, network: nn.Module, process: SiteProcess) -> None:
        super().__init__()
        self.network, self.process = network, process

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """Log-scores (B, D, N), at least float32, 0 at the symbols of x.

        Where the network takes weights (B, D, N) over symbols, so does this.
        """
        logits = at_least_single(self.network(x, noise))
        mask = getattr(self.process, "mask", None)
        if mask is not None:
            logits = logits.index_fill(-1, torch.tensor(mask, device=x.device), -torch.inf)
        noised = self.process.propagate(logits.softmax(-1), noise.to(logits.dtype))
        # Impossible moves have weight 0 in every use; any finite number will do for them.
        log_noised = noised.clamp(min=torch.finfo(torch.float32).tiny).log()
        return log_noised - log_noised.gather(-1, symbols_of(x)[..., None])
