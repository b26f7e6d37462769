"""Twisted SMC: proposals guided by gradients."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.guidance import guided_step
from jumpbench.methods.sgdd.baselines.smc import SMC, Proposal
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.ops.categorical import sample_categorical


class TDS(SMC):
    """Twisted SMC (Wu et al. 2023): proposals tilted by gradients, whose weights take it back.

    A weight is SMC's times p(x_t | parent) / q(x_t | parent), p being the reverse step and q the
    one of :func:`~jumpbench.methods.sgdd.baselines.guidance.guided_step`, over all sites.

    Args:
        scale: of the tilt.
        settings: of :class:`SMC`.
    """

    extra_calls = 1

    def __init__(self, *args: Any, scale: float = 1.0, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.scale = scale

    def proposals(self, prior: Prior, likelihood: Likelihood, times: list[float]) -> list[Proposal]:
        def guided(t: float, s: float) -> Proposal:
            def propose(x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
                flat = x.flatten(0, 1)
                log_p, log_q = guided_step(prior, likelihood, flat, t, s, self.scale)
                new = sample_categorical(log_q.exp(), generator)
                place = new[..., None]
                ratio = (log_p.gather(-1, place) - log_q.gather(-1, place)).sum((-2, -1))
                return new.to(x.dtype).view_as(x), ratio.view(x.shape[:2])

            return propose

        return [guided(t, s) for t, s in pairwise(times)]
