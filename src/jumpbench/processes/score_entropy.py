"""Score entropy: the loss that fits concrete scores p_t(y) / p_t(x) (SEDD, Lou et al. 2024)."""

import torch
from torch import Tensor

from jumpbench.processes.base import SiteProcess


def score_entropy(log_score: Tensor, ratio: Tensor) -> Tensor:
    """s - r log s + r (log r - 1) elementwise, with s = exp(``log_score``) and r = ``ratio`` >= 0.

    The Bregman divergence of -log scaled by r: non-negative, zero exactly at s = r, convex in
    log s. In expectation over random ratios it is least at s = E r, which is why a conditional
    ratio may stand in for the marginal one. Broadcasts; r = 0 gives s.
    """
    positive = ratio > 0
    difference = log_score - torch.where(positive, ratio, 1).log()
    # r (e^d - 1 - d): no cancellation between large terms where s is near r
    return torch.where(positive, ratio * (difference.expm1() - difference), log_score.exp())


def denoising_score_entropy(
    process: SiteProcess, log_score: Tensor, x0: Tensor, xt: Tensor, noise: Tensor, rate: Tensor
) -> Tensor:
    """Weighted score entropy against p(y | x_0) / p(x_t | x_0), (...) nats per state.

    Sum over sites and over symbols v of (forward rate from v to x_t) times the score entropy;
    the average over t uniform on (0, 1), x_0 from the data and x_t from the process bounds the
    negative log-likelihood up to a constant (Lou et al. 2024, eq. 10).

    Args:
        process: any process of independent sites.
        log_score: (..., D, N), log of the model's p_t(x_t with site i := v) / p_t(x_t). The
            entry at the current symbol has no weight.
        x0: clean states (..., D).
        xt: noised states, likewise.
        noise: sigma(t), broadcastable to (...).
        rate: sigma'(t), likewise.
    """
    ahead = process.transition(x0, noise, log_score.dtype)
    ratio = ahead / ahead.gather(-1, xt[..., None])
    weight = process.reverse_rates(xt, torch.ones_like(log_score), rate)
    return (weight * score_entropy(log_score, ratio)).sum((-2, -1))
