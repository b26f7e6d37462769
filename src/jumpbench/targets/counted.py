"""A target that counts the states whose energy it is asked for."""

import torch
from torch import Tensor

from jumpbench.targets.base import DiscreteTarget, Target


class Counted(Target):
    """A target known through ``log_prob`` alone, so that every ratio is made of energies.

    Attributes:
        asked: states that ``log_prob`` was called with.
        states: the same, but for a batch that is the batch of the call before: what an
            implementation evaluates twice counts once.
    """

    def __init__(self, target: DiscreteTarget) -> None:
        super().__init__(target.length, target.n_states)
        self.target = target
        self.asked, self.states, self.last = 0, 0, torch.empty(0)

    def log_prob(self, x: Tensor) -> Tensor:
        self.asked += x.shape[:-1].numel()
        if not torch.equal(x, self.last):
            self.states += x.shape[:-1].numel()
        self.last = x.clone()
        return self.target.log_prob(x)
