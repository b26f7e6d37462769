"""What the processes of a distributed run tell each other."""

from typing import Any

import torch
import torch.distributed as distributed
from torch.utils._pytree import tree_map


def gather(state: Any) -> list[Any]:
    """The states of all processes on the first one, with tensors on the host; elsewhere []."""
    there = tree_map(lambda v: v.cpu() if isinstance(v, torch.Tensor) else v, state)
    first = distributed.get_rank() == 0
    states = [None] * distributed.get_world_size() if first else None
    distributed.gather_object(there, states)
    return states or []
