"""A GFlowNet that builds independent sets and cuts node by node, trained by trajectory balance."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.graphs import LawsOfGraphs, chains_of, solutions
from jumpbench.networks.graph_isomorphism import GraphIsomorphism
from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.cost import Cost, table_evaluations
from jumpbench.samplers.draws import Draws, timed
from jumpbench.targets.graphs import GraphLaw, Graphs

CODES = 3  # undecided, chosen, ruled out

adam = partial(torch.optim.Adam, lr=1e-3)


def undecided(law: GraphLaw, x: Tensor, ratios: Tensor) -> Tensor:
    """Nodes (B, D) whose choice would raise the law: what may be chosen next.

    A choice lowers the gain of every other node of sets and of cuts, so a node that is ruled out
    stays out. A set may be reached through any order of its nodes, a cut through those orders that
    :func:`parents` allows.
    """
    return (x == 0) & law.mask & (ratios > 0)


def parents(law: GraphLaw, x: Tensor, ratios: Tensor) -> Tensor:
    """Nodes (B, D) that may have been chosen last: dropping them would lower the law."""
    return (x == 1) & law.mask & (ratios < 0)


def built(
    network: nn.Module, law: GraphLaw, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Solutions (B, D) that no choice improves, log P_F (B,) and log P_B (B,) of how they came.

    P_B is uniform over :func:`parents`. As many passes of ``network`` as there are nodes; complete
    solutions wait for the others.
    """
    device = generator.device
    x = torch.zeros(law.mask.shape, dtype=torch.long, device=device)
    log_forward, log_backward = (torch.zeros(len(x), device=device) for _ in range(2))
    ratios = law.flip_log_ratios(x)
    for _ in range(law.length):
        free = undecided(law, x, ratios)
        going = free.any(-1)
        codes = torch.where(x == 1, 1, torch.where(free, 0, 2))
        logits = network(codes, law.graphs).float()
        # A complete solution has no choice left; equal logits keep its row finite.
        logits = torch.where(going[:, None], logits.masked_fill(~free, -torch.inf), 0.0)
        log_p = logits.log_softmax(-1)
        node = sample_categorical(log_p.detach().exp(), generator)[:, None]
        log_forward = log_forward + torch.where(going, log_p.gather(1, node)[:, 0], 0.0)
        x = torch.where(going[:, None], x.scatter(1, node, 1), x)
        ratios = law.flip_log_ratios(x)
        ways = parents(law, x, ratios).sum(-1).clamp(min=1)
        log_backward = log_backward - torch.where(going, ways.log(), 0.0)
    return x, log_forward, log_backward


class GraphTrajectoryBalance(LawsOfGraphs):
    """One policy for the solutions of many graphs, P(x) proportional to the law at x.

    The loss is that of trajectory balance with log Z of every graph estimated by its own
    trajectories (Zhang et al. 2023, as VarGrad): their variance of log P_F - log P_B - log rho.
    The paper's GFlowNet has the same steps and a forward-looking detailed balance.

    Args:
        network: builds, from ``codes``, logits of nodes.
        optimizer: partial that takes the parameters.
        chains: trajectories a step, an equal share for each graph, at least 2.
        kwargs: ``problem``, ``beta`` and the others of :class:`LawsOfGraphs`; ``seed``,
            ``evaluation``.

    Raises:
        UserError: chains that cannot be shared out.
    """

    def __init__(
        self,
        network: Callable[..., nn.Module] = GraphIsomorphism,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = adam,
        chains: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        each, left = divmod(chains, self.graphs_per_rollout)
        if each < 2 or left:
            raise UserError(
                f"chains={chains} must be a multiple of graphs_per_rollout="
                f"{self.graphs_per_rollout}, at least twice it"
            )
        self.network = self.build(network, "network", codes=CODES)
        self.optimizer, self.each = optimizer, each
        self._each = each  # over all processes

    def on_fit_start(self) -> None:
        super().on_fit_start()
        self.each = self.share(self._each, "trajectories a graph")
        if self.each < 2:
            raise UserError("the variance needs two trajectories a graph on every device")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer(self.network.parameters())

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        law = self.laws(batch)
        index = torch.arange(len(law), device=self.device).repeat_interleave(self.each)
        law = law.rows(index)
        x, log_forward, log_backward = built(self.network, law, self.generator("paths"))
        with torch.no_grad():
            log_rho = law.log_prob(x)
        self.meter.network += len(x) * law.length
        self.meter.count("energy", x, evaluations=(law.length + 1) * table_evaluations(law))
        balance = (log_forward - log_backward - log_rho).view(-1, self.each)
        loss = balance.var(1).mean()
        self.log("train/loss", loss.detach())
        return loss

    @torch.no_grad()
    def draw(self, batch: Graphs, generator: torch.Generator) -> dict[str, Draws]:
        law = chains_of(self.problem, batch, self.beta, self.chains_per_graph)

        def trajectories() -> Draws:
            x, _, _ = built(self.network, law, generator)
            steps = float(law.length)
            tables = (steps + 1) * table_evaluations(law)
            return solutions(law, x, Cost(steps, tables, steps))

        return {"policy": timed(trajectories)}
