"""A small convolutional network that reads clean sequences: activities, or classes."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SequenceRegressor(nn.Module):
    """Outputs (B, outputs) of sequences (B, D) of N symbols, or of weights (B, D, N) over them.

    A convolution of width 9 (the length of a motif), GELU, maxima of pairs; ``layers`` residual
    convolutions of width 5 at dilations 1, 2, 4, ...; mean and maximum over positions; a hidden
    layer. One-hot weights give what their symbols give, with a gradient.

    Args:
        outputs: activities or classes.
        n_states: symbols N.
        channels: width.
        layers: residual convolutions.
        dropout: of the pooled features, in training.
    """

    def __init__(
        self,
        outputs: int,
        n_states: int = 4,
        channels: int = 64,
        layers: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.n_states = n_states
        self.motifs = nn.Conv1d(n_states, channels, 9, padding=4)
        self.layers = nn.ModuleList(
            nn.Conv1d(channels, channels, 5, padding=2 * 2**i, dilation=2**i) for i in range(layers)
        )
        self.head = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
            nn.GELU(),
            nn.Linear(channels, outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        weights = x if x.is_floating_point() else F.one_hot(x.long(), self.n_states)
        channels = F.gelu(self.motifs(weights.to(self.motifs.weight.dtype).transpose(1, 2)))
        channels = F.max_pool1d(channels, 2)
        for layer in self.layers:
            channels = channels + F.gelu(layer(channels))
        return self.head(torch.cat([channels.mean(-1), channels.amax(-1)], -1))
