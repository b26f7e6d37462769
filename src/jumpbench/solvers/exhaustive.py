"""The best state of a small law by trying all: an oracle without further dependencies."""

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.enumeration import all_states
from jumpbench.targets.graphs import GraphLaw

MOST_NODES = 20


def best_states(laws: GraphLaw) -> Tensor:
    """A state (B, D) of greatest density of each graph; the optimum for sets and cuts.

    Raises:
        UserError: a graph of more than 20 nodes.
    """
    best = torch.zeros(laws.mask.shape, dtype=torch.long)
    for number, size in enumerate(laws.graphs.sizes.tolist()):
        if size > MOST_NODES:
            raise UserError(
                f"graph {number} has {size} nodes, too many to try all states (at most "
                f"{MOST_NODES}): needs.optimum.experiment takes one with a solver, such as "
                "dnfs/independent_sets_exact or dnfs/cuts_exact"
            )
        one = laws.rows(torch.tensor([number]))
        states = all_states(size, 2)
        padding = laws.length - size
        value = torch.cat(
            [
                one.log_prob(torch.nn.functional.pad(part, (0, padding)))
                for part in states.split(2**16)
            ]
        )
        best[number, :size] = states[int(value.argmax())].long()
    return best
