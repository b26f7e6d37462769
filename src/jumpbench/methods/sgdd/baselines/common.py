"""What the baselines share: the unconditional sampler's grid, and chunks of chains."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN


def sampling_times(n_steps: int) -> list[float]:
    """t_i = 1 - (1 - CLEAN) i / n, i = 0..n: from noise to (almost) clean."""
    return [1 - (1 - CLEAN) * i / n_steps for i in range(n_steps)] + [CLEAN]


def in_chunks(
    run: Callable[[Tensor], Tensor],
    likelihood: Likelihood,
    n_chains: int,
    chunk: int | None,
    device: torch.device,
) -> Tensor:
    """Samples of ``run(chains)`` for the numbers 0..n_chains-1, at most ``chunk`` at a time.

    Small chunks bound the memory, and keep a processor's working tensors in its cache. Chain
    number c is held against measurement c, if each chain has its own.

    Raises:
        ValueError: other than one measurement for all, or one for each chain.
    """
    likelihood.check_chains(n_chains)
    chains = torch.arange(n_chains, device=device)
    return torch.cat([run(part) for part in chains.split(chunk or n_chains)])
