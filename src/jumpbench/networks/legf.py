"""leGF: leTF for graphs of several sizes, with attention biased by shortest-path distances.

As Graphormer adds them, one learned scalar per head and distance joins every attention logit, the
same in all layers; nothing is added where one side is the time token. The bias depends on the graph
alone, so the features stay hollow (DNFS, Ou et al. 2025, appendix D.4).

Node order matters (the streams are causal), so the network is not invariant under relabelling.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from jumpbench.networks.letf import LeTF, visible
from jumpbench.targets.graphs import Graphs


class GraphBiases(NamedTuple):
    """What :class:`LeGF` makes of the graphs (B of them) before it reads any state."""

    real: Tensor  # nodes that are no padding, (B, D)
    backwards: Tensor  # order of the second stream, (B, D)
    streams: Tensor  # (2 B, heads, D + 1, D + 1)
    readout: Tensor  # (B, heads, D, 2 D)


class LeGF(LeTF):
    """G (B, D, 2) of states (B, D), times (B,) and one graph a state; 0 at padded nodes.

    Graphs are padded at the end. The second stream reads each graph backwards within its own
    length, so that causality hides the padding in both streams.

    Args:
        length: D, the padded number of nodes.
        n_states: 2.
        max_distance: greater distances count as this one.
        sizes: of :class:`LeTF`.
    """

    def __init__(self, length: int, n_states: int = 2, max_distance: int = 8, **sizes: Any) -> None:
        super().__init__(length, n_states, **sizes)
        heads = self.attention.heads
        self.max_distance = max_distance
        # Distances 0 .. max_distance, and one row for unreachable; the time token has none.
        self.distance_bias = nn.Parameter(torch.zeros(max_distance + 2, heads))

    def forward(  # type: ignore[override]
        self, x: Tensor, t: Tensor, graphs: Graphs | GraphBiases
    ) -> Tensor:
        x = x.long()
        if isinstance(graphs, Graphs):
            graphs = self.prepared(graphs, len(x))
        flux = self._flux(x, t, graphs.backwards, graphs.streams, graphs.readout)
        return flux * graphs.real[..., None]

    def prepared(self, graphs: Graphs, batch: int) -> GraphBiases:
        """What :meth:`forward` takes in the place of the graphs: more than half of a pass over
        them, for many passes with the same parameters.

        Args:
            graphs: one a state, or one for all.
            batch: number of states B.
        """
        if len(graphs) == 1:
            index = torch.zeros(batch, dtype=torch.long, device=graphs.sizes.device)
            graphs = graphs.rows(index)
        site = torch.arange(graphs.adjacency.shape[-1], device=graphs.sizes.device)
        sizes = graphs.sizes[:, None]
        backwards = torch.where(site < sizes, sizes - 1 - site, site)
        between = self._between_nodes(graphs)
        readout = self._to_streams(between, graphs.mask)
        hidden = ~(visible(len(site), site.device) & graphs.mask.repeat(1, 2)[:, None, None])
        return GraphBiases(
            graphs.mask, backwards, self._in_streams(between, backwards),
            readout.masked_fill(hidden, -torch.inf),
        )  # fmt: skip

    def _between_nodes(self, graphs: Graphs) -> Tensor:
        """Bias (B, heads, D, D) between nodes."""
        row = graphs.distances.clamp(max=self.max_distance)
        row = torch.where(graphs.distances < 0, self.max_distance + 1, row)
        return functional.embedding(row, self.distance_bias).permute(0, 3, 1, 2)

    def _to_streams(self, between: Tensor, real: Tensor) -> Tensor:
        """Bias (B, heads, D, 2 D) of site i towards f_j and b_j, which carry x_{j-1} and x_{j+1}.

        With the distances to j instead, no feature of site i could tell its neighbours' states:
        every key would stand one place beside the node that its bias is about.
        """
        between = between * real[:, None, None]
        left = functional.pad(between[..., :-1], (1, 0))
        right = functional.pad(between[..., 1:], (0, 1))
        return torch.cat((left, right), -1)

    def _in_streams(self, between: Tensor, backwards: Tensor) -> Tensor:
        """Bias (2 B, heads, D + 1, D + 1) in the order of both streams, causal."""
        heads, length = between.shape[1:3]
        columns = backwards[:, None, None, :].expand(-1, heads, length, -1)
        reverse = between.gather(3, columns).gather(2, columns.transpose(2, 3))
        bias = functional.pad(torch.cat((between, reverse)), (1, 0, 1, 0))
        future = torch.ones(length + 1, length + 1, dtype=torch.bool, device=bias.device).triu(1)
        return bias.masked_fill(future, -torch.inf)
