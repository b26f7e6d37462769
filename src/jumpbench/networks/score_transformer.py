"""Transformer that reads a noised sequence and its noise level and gives a concrete score."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.networks.embeddings import embedded, sinusoidal_features
from jumpbench.ops.categorical import symbols_of
from jumpbench.ops.precision import at_least_single


class ScoreTransformer(nn.Module):
    """log p_t(x with site i := v) / p_t(x) of sequences, as SEDD's diffusion transformer.

    Pre-norm blocks whose norms and residual gates are set by the noise level (adaptive layer
    norm, zero-initialised, so the network starts as log-score 0), rotary positions, GELU. With
    the defaults and 100 symbols 25.1M parameters.

    Args:
        n_states: symbols N.
        dim: width of the tokens.
        layers: number of blocks.
        heads: of the attention.
        feedforward: hidden width of a block.
        dropout: of a block.
        condition: width of the noise embedding.
        positions: with a number, that many learned absolute positions are added to the tokens
            besides the rotary ones, which alone leave absolute places to be inferred.
        norm_scales: learned scales of the layer norms, as in SEDD's code: with dim 768, 12 layers
            and heads, feedforward 3072 and 2 symbols 92,383,746 parameters (SGDD's prior).
    """

    def __init__(
        self,
        n_states: int,
        dim: int = 512,
        layers: int = 7,
        heads: int = 8,
        feedforward: int = 2048,
        dropout: float = 0.1,
        condition: int = 128,
        positions: int | None = None,
        norm_scales: bool = False,
    ) -> None:
        super().__init__()
        self.symbols = nn.Embedding(n_states, dim)
        self.positions = None
        if positions:
            self.positions = nn.Parameter(0.02 * torch.randn(positions, dim))
        self.noise = nn.Sequential(
            nn.Linear(256, condition), nn.SiLU(), nn.Linear(condition, condition), nn.SiLU()
        )
        self.head_width = dim // heads
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, heads, feedforward, dropout, condition, norm_scales)
            for _ in range(layers)
        )
        self.modulation = _zeros(nn.Linear(condition, 2 * dim))
        self.norm = nn.Parameter(torch.ones(dim)) if norm_scales else None
        self.head = _zeros(nn.Linear(dim, n_states))

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """Log-scores (B, D, N) of ``x`` (B, D) at noise (B,); 0 at the symbols of x.

        ``x`` may also be weights (B, D, N) over symbols.
        """
        tokens = embedded(self.symbols, x)
        if self.positions is not None:
            tokens = tokens + self.positions[: x.shape[1]]
        condition = self.noise(sinusoidal_features(noise, 256))
        places = torch.arange(x.shape[1], device=x.device)
        turn = sinusoidal_features(places, self.head_width)
        for block in self.blocks:
            tokens = block(tokens, condition, turn)
        shift, scale = self.modulation(condition)[:, None].chunk(2, dim=-1)
        log_score = at_least_single(self.head(_norm(tokens, shift, scale, self.norm)))
        return log_score.scatter(-1, symbols_of(x)[..., None], 0.0)


class TransformerBlock(nn.Module):
    """Attention and MLP, each: adaptive norm, module, dropout, gated residual."""

    def __init__(
        self,
        dim: int,
        heads: int,
        feedforward: int,
        dropout: float,
        condition: int,
        norm_scales: bool,
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.modulation = _zeros(nn.Linear(condition, 6 * dim))
        self.norms: list[Tensor | None] | nn.ParameterList = [None, None]
        if norm_scales:
            self.norms = nn.ParameterList([torch.ones(dim), torch.ones(dim)])
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(dim, feedforward), nn.GELU(approximate="tanh"), nn.Linear(feedforward, dim)
        )

    def forward(self, tokens: Tensor, condition: Tensor, turn: Tensor) -> Tensor:
        change = self.modulation(condition)[:, None].chunk(6, dim=-1)
        shift, scale, gate = change[:3]
        qkv = self.qkv(_norm(tokens, shift, scale, self.norms[0]))
        q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).unbind(2)
        q, k = _rotate(q, turn), _rotate(k, turn)
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        read = F.scaled_dot_product_attention(q, k, v)
        read = self.out(read.transpose(1, 2).flatten(2))
        tokens = tokens + gate * F.dropout(read, self.dropout, self.training)
        shift, scale, gate = change[3:]
        update = self.mlp(_norm(tokens, shift, scale, self.norms[1]))
        return tokens + gate * F.dropout(update, self.dropout, self.training)


def _norm(tokens: Tensor, shift: Tensor, scale: Tensor, weight: Tensor | None) -> Tensor:
    return F.layer_norm(tokens, tokens.shape[-1:], weight) * (1 + scale) + shift


def _rotate(z: Tensor, turn: Tensor) -> Tensor:
    """Channels c and c + k/2 of every head turned by place * 10000^(-2c/k), z (B, D, heads, k)."""
    cos, sin = turn.to(z.dtype)[:, None].chunk(2, dim=-1)
    a, b = z.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def _zeros(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
