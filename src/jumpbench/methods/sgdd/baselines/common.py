"""What the baselines share: the unconditional sampler's grid, and chunks of chains."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior, Transition
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.progress import reported


def sampling_times(n_steps: int) -> list[float]:
    """t_i = 1 - (1 - CLEAN) i / n, i = 0..n: from noise to (almost) clean."""
    return [1 - (1 - CLEAN) * i / n_steps for i in range(n_steps)] + [CLEAN]


def at_least_one(**counts: int) -> None:
    """Raises a UserError that names the first of ``counts`` below 1."""
    for name, count in counts.items():
        if count < 1:
            raise UserError(f"{name} must be at least 1, not {count}")


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
    parts = chains.split(chunk or n_chains)
    return torch.cat([run(part) for part in reported(parts, len(parts))])


class MostProbable:
    """The clean state whose every symbol is the most probable one of its site, without a draw."""

    network_calls = counted_calls = 1

    def __init__(self, prior: Prior, t: float) -> None:
        self.prior, self.t = prior, t

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return self.prior.clean_probabilities(x, self.t).argmax(-1)


def clean_estimates(
    prior: Prior, times: Sequence[float], x0_steps: int | None
) -> Sequence[Transition]:
    """How a baseline guesses x_0 at each of ``times``: ``x0_steps`` reverse steps and a denoising
    draw, 0 for that draw alone, None for :class:`MostProbable`.

    Raises:
        UserError: fewer than no steps.
    """
    if x0_steps is not None and x0_steps < 0:
        raise UserError(f"x0_steps={x0_steps}: give 0 or more, or null for the most probable state")
    if x0_steps is None:
        return [MostProbable(prior, t) for t in times]
    return prior.denoisers(times, x0_steps) if times else []


def search_cost(
    denoisers: Sequence[Transition], last: Transition, tried: int, chains: int = 1
) -> tuple[Cost, int, int]:
    """Cost of one sample, its network evaluations as tables count them, and those in sequence.

    The paper leaves out the reverse step of SVDD-PM and DPS, which is counted here.

    At every step each of ``chains`` chains takes one reverse step and values ``tried`` states by
    their clean draws; one chain is denoised at the end.
    """
    network = chains * sum(1 + tried * d.network_calls for d in denoisers) + last.network_calls
    counted = chains * sum(1 + tried * d.counted_calls for d in denoisers)
    steps = sum(1 + d.network_calls for d in denoisers) + 1
    sequential = sum(1 + d.counted_calls for d in denoisers)
    return Cost(network, len(denoisers) * chains * tried, steps), counted, sequential
