"""Losses of a batch of pairs: a matching's targets against a network's output, by divergence."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.methods.dasbs.matching import Matching, Ratios, bregman

Network = Callable[..., Tensor]


def controller_divergence(
    network: Network,
    pairs: Pairs,
    n_times: int,
    matching: Matching,
    end_ratios: Ratios,
    reference: Reference,
    generator: torch.Generator,
) -> Tensor:
    """Divergence (B, R) of the controller at R times of every pair.

    ``end_ratios`` maps x_1 (B, D) to log nu-ratios minus log Phihat (B, D, N).
    """
    with torch.no_grad():
        t, x, log_target = matching.controller(pairs, n_times, end_ratios, reference, generator)
    output = network(x.flatten(0, 1), t.flatten()).view_as(log_target)
    return bregman(log_target, output, x)


def corrector_divergence(
    network: Network,
    pairs: Pairs,
    n_times: int,
    matching: Matching,
    start_ratios: Ratios,
    reference: Reference,
    generator: torch.Generator,
) -> Tensor:
    """Divergence (B, R) of the corrector at x_1, R = 1 for adjoint matching.

    The network reads x_1 only, so it is evaluated once per pair, whatever R. ``start_ratios`` maps
    x_0 (B, D) to log mu-ratios minus log Phi_0 (B, D, N).
    """
    with torch.no_grad():
        log_target = matching.corrector(pairs, n_times, start_ratios, reference, generator)
    output = network(pairs.end).unsqueeze(1)
    return bregman(log_target, output, pairs.end.unsqueeze(1))


def weighted_mean(divergence: Tensor, log_weight: Tensor | None) -> Tensor:
    """Mean over pairs and times; pairs weighted by a softmax over the batch times its size."""
    if log_weight is None:
        return divergence.mean()
    weight = log_weight.softmax(0) * len(log_weight)
    return (weight.unsqueeze(1) * divergence).mean()
