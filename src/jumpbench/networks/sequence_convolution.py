"""A small network of dilated convolutions that reads noised sequences of symbols."""

from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.networks.embeddings import embedded, sinusoidal_features


class SequenceConvolution(nn.Module):
    """Outputs (B, D, N) for sequences (B, D) of N symbols at noise (B,).

    Sequences may be given as weights (B, D, N) over symbols, for gradients.

    Residual blocks of two convolutions of width 5 at dilations 1, 2, 4, ... (again and again up to
    ``widest``), each scaled and shifted by features of log(noise). The last layer starts at 0.

    Args:
        n_states: symbols N.
        channels: width.
        blocks: their number.
        widest: greatest dilation.
    """

    def __init__(
        self,
        n_states: int,
        channels: int = 64,
        blocks: int = 6,
        widest: int = 16,
        condition: int = 128,
    ) -> None:
        super().__init__()
        self.n_states = n_states
        self.symbols = nn.Embedding(n_states, channels)
        self.condition = nn.Sequential(
            nn.Linear(128, condition), nn.SiLU(), nn.Linear(condition, condition), nn.SiLU()
        )
        rounds = widest.bit_length()
        self.blocks = nn.ModuleList(
            SequenceBlock(channels, 2 ** (i % rounds), condition) for i in range(blocks)
        )
        self.head = nn.Conv1d(channels, n_states, 1)
        for parameter in self.head.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        condition = self.condition(sinusoidal_features(100 * noise.clamp(min=1e-6).log(), 128))
        tokens = embedded(self.symbols, x).transpose(1, 2)
        for block in self.blocks:
            tokens = block(tokens, condition)
        return self.head(F.silu(tokens)).transpose(1, 2)


class SequenceBlock(nn.Module):
    """x + convolutions of it, the middle scaled and shifted by the condition."""

    def __init__(self, channels: int, dilation: int, condition: int) -> None:
        super().__init__()
        wide = partial(nn.Conv1d, padding=2 * dilation, dilation=dilation)
        self.first, self.second = wide(channels, channels, 5), wide(channels, channels, 5)
        self.norms = nn.ModuleList([nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)])
        self.modulation = nn.Linear(condition, 2 * channels)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.modulation(condition)[:, :, None].chunk(2, 1)
        middle = self.norms[1](self.first(F.silu(self.norms[0](x))))
        return x + self.second(F.silu(middle * (1 + scale) + shift))
