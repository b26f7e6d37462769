"""The node-edge transformer for tours: nodes look at their edges, then at each other."""

import torch
from torch import Tensor, nn

from jumpbench.networks.embeddings import TimeEmbedding, interleaved_sin_cos, sinusoidal_features
from jumpbench.networks.object_encoders import PointFeatures
from jumpbench.networks.permutation_transformer import PairScores, append_zeros, positions


class CrossLayer(nn.Module):
    """Post-norm attention of nodes (M, n, d) to edge tokens (M, E, d), then a feed-forward net.

    The only dropout is on the attention weights.
    """

    def __init__(self, dim: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, dropout, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, nodes: Tensor, edges: Tensor, mask: Tensor) -> Tensor:
        seen, _ = self.attention(nodes, edges, edges, attn_mask=mask, need_weights=False)
        nodes = self.norm1(nodes + seen)
        return self.norm2(nodes + self.feed_forward(nodes))


class TourTransformer(nn.Module):
    """Generalised Plackett-Luce scores (M, n, n) from the points of a tour in their current order.

    Odd layers attend from nodes to the n(n-1)/2 edge tokens (sinusoids of the distance between the
    current positions i < j, row-major), each node to the edges it ends; even layers, the last
    included, are self-attention. Time is added to the nodes before every layer and to the edge
    tokens in every cross layer; edge tokens are never updated. Only the last layer sees the dummy
    tokens. 16 layers of d = 256, ff = 1024: 12.77 million parameters (TSP-20).

    Raises:
        ValueError: ``layers`` is odd.
    """

    def __init__(
        self,
        head: PairScores,
        dim: int = 256,
        layers: int = 16,
        heads: int = 8,
        hidden: int = 1024,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if layers < 2 or layers % 2:
            raise ValueError(f"layers={layers}: cross- and self-attention layers come in pairs")
        self.head = head
        self.dim = dim
        self.time = TimeEmbedding(dim)
        self.features = PointFeatures(dim)
        self.dropout = nn.Dropout(dropout)
        self.cross = nn.ModuleList(
            CrossLayer(dim, heads, hidden, dropout) for _ in range(layers // 2)
        )
        self.within = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, hidden, dropout, batch_first=True)
            for _ in range(layers // 2)
        )
        self.norm = nn.LayerNorm(dim, eps=1e-6, elementwise_affine=False)

    def encode(self, objects: Tensor) -> Tensor:
        """The points themselves (B, n, 2): nothing is learned about one city alone."""
        return objects

    def forward(self, points: Tensor, t: Tensor) -> Tensor:
        length = points.shape[1]
        first, second = torch.triu_indices(length, length, 1, device=points.device)
        distances = (points[:, first] - points[:, second]).norm(dim=-1)
        edges = sinusoidal_features(distances, self.dim, interleaved_sin_cos)
        edges = self.dropout(edges + positions(edges))
        node = torch.arange(length, device=points.device).unsqueeze(1)
        elsewhere = (first != node) & (second != node)  # (n, E)
        mask = torch.zeros(elsewhere.shape, device=points.device).masked_fill(elsewhere, -torch.inf)
        time = self.time(t).unsqueeze(1)
        nodes = self.features(points)
        nodes = self.dropout(nodes + positions(nodes))
        *within, last = self.within
        *cross, last_cross = self.cross
        for look, layer in zip(cross, within, strict=True):
            nodes = look(nodes + time, edges + time, mask)
            nodes = layer(nodes + time)
        nodes = last_cross(nodes + time, edges + time, mask)
        tokens = append_zeros(nodes, self.head.extra(length))
        tokens = self.dropout(tokens + positions(tokens)) + time
        tokens = last(tokens, src_mask=self.head.mask(length, tokens.device))
        return self.head(self.norm(tokens), length)
