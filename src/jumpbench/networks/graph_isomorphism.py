"""A graph isomorphism network (GIN, Xu et al. 2019) on padded graphs, one logit a node."""

import torch
from torch import Tensor, nn

from jumpbench.targets.graphs import Graphs


class GraphIsomorphism(nn.Module):
    """Logits (B, D) of codes (B, D) 0..C-1 and one graph a state.

    Layers h <- h + MLP((1 + eps) h + A h), h normalised. Padded nodes send nothing, and their own
    logits mean nothing. The logits follow a relabelling of the nodes.

    Args:
        codes: C, kinds of nodes.
        hidden: width.
        layers: rounds of messages.
    """

    def __init__(self, codes: int, hidden: int = 256, layers: int = 4) -> None:
        super().__init__()
        self.embedding = nn.Embedding(codes, hidden)
        self.epsilon = nn.Parameter(torch.zeros(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(layers))
        self.updates = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
            for _ in range(layers)
        )
        self.readout = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 1))

    def forward(self, codes: Tensor, graphs: Graphs) -> Tensor:
        h = self.embedding(codes)
        for epsilon, norm, update in zip(self.epsilon, self.norms, self.updates, strict=True):
            sent = norm(h) * graphs.mask[..., None]
            h = h + update((1 + epsilon) * sent + graphs.adjacency.to(sent.dtype) @ sent)
        return self.readout(h).squeeze(-1)
