"""What the baselines share: the unconditional sampler's grid, and chunks of chains."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.methods.sgdd.prior import CLEAN


def sampling_times(n_steps: int) -> list[float]:
    """t_i = 1 - (1 - CLEAN) i / n, i = 0..n: from noise to (almost) clean."""
    return [1 - (1 - CLEAN) * i / n_steps for i in range(n_steps)] + [CLEAN]


def in_chunks(run: Callable[[int], Tensor], n_chains: int, chunk: int | None) -> Tensor:
    """Samples of ``run(size)`` for sizes of at most ``chunk`` that add up to ``n_chains``.

    Small chunks bound the memory, and keep a processor's working tensors in its cache. Only for
    likelihoods that are the same for all chains.
    """
    chunk = chunk or n_chains
    sizes = [min(chunk, n_chains - start) for start in range(0, n_chains, chunk)]
    return torch.cat([run(size) for size in sizes])
