"""Summaries of simulated paths."""

from torch import Tensor


def jumps_per_site(path: Tensor) -> Tensor:
    """Mean number of changes of a site along a path, (M + 1, B, D) -> () float64.

    The effective sample size of path weights is in :mod:`jumpbench.samplers.weights`.
    """
    return (path[1:] != path[:-1]).sum(0).double().mean()
