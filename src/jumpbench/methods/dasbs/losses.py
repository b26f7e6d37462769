"""The divergence that all four matchings minimise, and its mean over a batch of pairs."""

from torch import Tensor

from jumpbench.processes.base import is_symbol


def bregman(log_target: Tensor, log_output: Tensor, at: Tensor) -> Tensor:
    """Generalised Kullback-Leibler divergence a log(a/b) - a + b, averaged over sites and symbols.

    Args:
        log_target: log a, (..., D, N), broadcastable to log b.
        log_output: log b, likewise.
        at: (..., D); the entries at its current symbols are left out.

    Returns:
        (...), float32: the sum over d and n != at_d, divided by D N (the released prefactor).
    """
    current = is_symbol(at, log_output.shape[-1])
    log_a = log_target.float().masked_fill(current, 0)
    log_b = log_output.float().masked_fill(current, 0)
    a = log_a.exp()
    return (a * (log_a - log_b) - a + log_b.exp()).mean((-2, -1))


def weighted_mean(divergence: Tensor, log_weight: Tensor | None) -> Tensor:
    """Mean over pairs and times; pairs weighted by a softmax over the batch times its size."""
    if log_weight is None:
        return divergence.mean()
    weight = log_weight.softmax(0) * len(log_weight)
    return (weight.unsqueeze(1) * divergence).mean()
