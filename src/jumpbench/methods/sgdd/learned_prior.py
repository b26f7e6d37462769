"""Priors that another run has trained."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.methods.sgdd.interface import Problem
from jumpbench.methods.sgdd.prior import ScorePrior
from jumpbench.processes.base import SiteProcess
from jumpbench.processes.schedules import Geometric, Schedule


class NetworkScore(nn.Module):
    """Ratios at time t from a network that gives log-scores at noise sigma(t).

    With ``bfloat16`` the network's products and convolutions are in bfloat16 (autocast); what
    samplers make of its scores stays in float32.
    """

    def __init__(self, network: nn.Module, schedule: Schedule, bfloat16: bool = False) -> None:
        super().__init__()
        self.network, self.schedule, self.in_bfloat16 = network, schedule, bfloat16

    def forward(self, x: Tensor, t: float) -> Tensor:
        noise = self.schedule.total(t).float().to(x.device).expand(len(x))
        half = torch.autocast(x.device.type, torch.bfloat16) if self.in_bfloat16 else nullcontext()
        with half:
            log_score = self.network(x, noise)
        return log_score.float().exp()


def learned_prior(
    folder: str | Path,
    network: nn.Module,
    process: SiteProcess,
    problem: Problem,
    schedule: Schedule | None = None,
    compile: bool = False,
    **options: Any,
) -> ScorePrior:
    """The prior of a run of :class:`~jumpbench.methods.common.score_training.ScoreTraining`.

    Args:
        folder: of the run; its artifact ``network`` holds the weights.
        network: of the shape that was trained: states and noise -> log-scores.
        process: that it was trained with.
        schedule: likewise.
        problem: says the length D.
        compile: compile the network; every new shape of a batch takes its time to compile.
        options: see :class:`~jumpbench.methods.sgdd.prior.ScorePrior`; and ``bfloat16``, see
            :class:`NetworkScore`: processors with such instructions are 2 to 3 times as fast. It
            has no default here, which would give every run with a trained prior another identity.

    Raises:
        UserError: the run has no such weights, or they do not fit the network.
    """
    schedule, bfloat16 = schedule or Geometric(), bool(options.pop("bfloat16", False))
    network = load_weights(network, folder)
    if compile:
        network.compile()
    score = NetworkScore(network, schedule, bfloat16)
    prior = ScorePrior(score, process, problem.length, schedule=schedule, **options)
    return prior.requires_grad_(False).eval()
