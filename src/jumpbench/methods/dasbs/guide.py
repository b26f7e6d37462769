"""The guided controller: the target's ratios are at hand, a network learns the rest."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.methods.dasbs.matching import Network
from jumpbench.samplers.cost import Meter, metered
from jumpbench.targets.base import DiscreteTarget


class Guide(nn.Module):
    """The part of a guided control that no network learns.

        log Phi_t(x)[d, n] = t (log nu(x^{d<-n}) / nu(x) - log Phihat(x)[d, n])
                             + (1 - t) network(x, t)[d, n]

    At t = 1 this is the control that the stage aims at. It is ``controller_reparam`` of the
    released code, switched off and called deprecated there, and not in the paper. A control costs
    one table of the target's neighbour ratios and, from stage 2 on, one pass of the corrector.

    The corrector is a frozen copy of the one that the stage's targets are made with: a corrector
    phase trains on paths of this control, and must not move it. Until the first :meth:`take` it is
    the constant 1.

    Args:
        corrector: network of log Phihat, whose shape the copy has; None without corrector.
    """

    corrector: nn.Module | None

    def __init__(self, corrector: nn.Module | None) -> None:
        super().__init__()
        self.corrector = None if corrector is None else copy.deepcopy(corrector)
        self.requires_grad_(False)
        self.constant = True

    def take(self, corrector: nn.Module) -> None:
        """Copies the weights with which a stage begins."""
        assert self.corrector is not None
        self.corrector.load_state_dict(corrector.state_dict())
        self.constant = False

    def control(self, network: Network, target: DiscreteTarget, meter: Meter) -> Network:
        """log Phi as a function of (x (B, D), t (B,)), evaluations counted by ``meter``."""
        target = metered(target, meter)
        corrector = None if self.constant else metered(self.corrector, meter, "network")

        def guided(x: Tensor, t: Tensor) -> Tensor:
            with torch.no_grad():
                aim = target.neighbor_log_ratios(x).float()
                if corrector is not None:
                    aim = aim - corrector(x)
            t = t.view(-1, 1, 1)
            return t * aim + (1 - t) * network(x, t.flatten())

        return guided

    def get_extra_state(self) -> dict[str, Any]:
        return {"constant": self.constant}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.constant = bool(state["constant"])
