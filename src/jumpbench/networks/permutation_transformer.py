"""Transformers that read a list in its current order and score what permutation to apply next.

Objects are encoded once per list (:meth:`encode`); a method then permutes the encodings for every
state it asks about and calls the network with ``(tokens (M, n, d), t (M,))``.
"""

from typing import Protocol, cast

import torch
from torch import Tensor, nn

from jumpbench.networks.embeddings import TimeEmbedding, interleaved_sin_cos, sinusoidal_features


class Head(Protocol):
    """What makes scores of tokens: zero tokens to append, an attention mask, then the scores."""

    def extra(self, length: int) -> int: ...

    def mask(self, length: int, device: torch.device) -> Tensor | None: ...

    def __call__(self, tokens: Tensor, length: int) -> Tensor: ...


class TokenScores(nn.Module):
    """One score per token: linear(d, hidden) - ReLU - linear(hidden, 1), scores (M, n + extra).

    ``extra`` zero tokens are appended to the list: 0 for inverse shuffles, insertions and
    Plackett-Luce, 1 for inverse transpositions, whose last score is tau.
    """

    def __init__(self, dim: int = 128, hidden: int = 512, extra: int = 0) -> None:
        super().__init__()
        self._extra = extra
        self.score = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def extra(self, length: int) -> int:
        return self._extra

    def mask(self, length: int, device: torch.device) -> Tensor | None:
        return None

    def forward(self, tokens: Tensor, length: int) -> Tensor:
        # Neighbours of a long list have close scores: half precision would tie them.
        with torch.autocast(tokens.device.type, enabled=False):
            return self.score(tokens.float()).squeeze(-1)


class PairScores(nn.Module):
    """Scores (M, n, n) of generalised Plackett-Luce: row = output position, column = candidate.

    n zero tokens ("dummies") are appended. Objects do not see dummies; dummy j sees the objects
    and the dummies before j. With Z1 the objects' and Z2 the dummies' outputs (float32),

    - ``rows="object"``: S = Z1 Z2^T, row i from the object in slot i (the paper's Appendix B and
      the authors' code);
    - ``rows="dummy"``: S = Z2 Z1^T, row i from dummy i (the paper's main text; learns faster).

    ``pin_first``: position 1 keeps its object, S[1, j > 1] = S[i > 1, 1] = -inf (tours).
    """

    def __init__(self, rows: str = "object", pin_first: bool = False) -> None:
        super().__init__()
        if rows not in ("object", "dummy"):
            raise ValueError(f"rows={rows!r}: choose 'object' or 'dummy'")
        self.rows = rows
        self.pin_first = pin_first

    def extra(self, length: int) -> int:
        return length

    def mask(self, length: int, device: torch.device) -> Tensor:
        """Additive attention mask (2n, 2n): 0 where the query may look, -inf elsewhere."""
        slot = torch.arange(2 * length, device=device)
        query, key = slot.unsqueeze(1), slot
        open_ = (key < length) | ((query >= length) & (key < query))
        return torch.zeros(open_.shape, device=device).masked_fill(~open_, -torch.inf)

    def forward(self, tokens: Tensor, length: int) -> Tensor:
        objects, dummies = tokens.float().split(length, dim=1)
        # The affine-free norm makes |S| <= d; half precision would leave whole units of error.
        with torch.autocast(tokens.device.type, enabled=False):
            scores = objects @ dummies.mT
        if self.rows == "dummy":
            scores = scores.mT
        if self.pin_first:
            place = torch.arange(length, device=scores.device)
            scores = scores.masked_fill((place == 0) != (place == 0).unsqueeze(1), -torch.inf)
        return scores


class PermutationTransformer(nn.Module):
    """Post-norm transformer over the tokens of a list and the zero tokens its head asks for.

    tokens + position -> dropout -> + time -> layers -> affine-free LayerNorm -> head
    (the code of SymmetricDiffusers; its Appendix B appends the zeros after the time). 7 layers of
    d = 128, ff = 512: 1,387,904 parameters.

    Args:
        encoder: objects (B, n, ...) -> (B, n, dim).
        head: :class:`TokenScores` or :class:`PairScores`.

    Raises:
        ValueError: the encoder's output is not ``dim`` wide.
    """

    def __init__(
        self,
        encoder: nn.Module,
        head: nn.Module,
        dim: int = 128,
        layers: int = 7,
        heads: int = 8,
        hidden: int = 512,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.dim = dim
        self.time = TimeEmbedding(dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, hidden, dropout, batch_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim, eps=1e-6, elementwise_affine=False)

    def encode(self, objects: Tensor) -> Tensor:
        """Tokens (B, n, dim) of the objects, in the order given; positions come in later."""
        tokens = self.encoder(objects)
        if tokens.shape[-1] != self.dim:
            raise ValueError(
                f"the encoder's tokens are {tokens.shape[-1]} wide, the network's {self.dim}"
            )
        return tokens

    def forward(self, tokens: Tensor, t: Tensor) -> Tensor:
        """Scores of the list in its current order at time t (the number of shuffles)."""
        length = tokens.shape[1]
        head = cast(Head, self.head)
        tokens = append_zeros(tokens, head.extra(length))
        tokens = self.dropout(tokens + positions(tokens))
        tokens = tokens + self.time(t).unsqueeze(1)
        mask = head.mask(length, tokens.device)
        for layer in self.layers:
            tokens = layer(tokens, src_mask=mask)
        return self.head(self.norm(tokens), length)


def append_zeros(tokens: Tensor, count: int) -> Tensor:
    """``count`` zero tokens after the others."""
    return nn.functional.pad(tokens, (0, 0, 0, count)) if count else tokens


def positions(tokens: Tensor) -> Tensor:
    """Code (slots, d) of the slot index: channel 2c sin, 2c+1 cos of pos / 10000^(2c/d)."""
    slots = torch.arange(tokens.shape[1], device=tokens.device)
    return sinusoidal_features(slots, tokens.shape[2], interleaved_sin_cos)
