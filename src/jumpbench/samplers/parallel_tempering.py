"""Parallel tempering: replicas at a ladder of powers of the target that exchange their states.

Replica k of every ladder samples p_k(x) ~ nu(x)^{t_k}, 0 <= t_1 < .. < t_K = 1, by a Markov kernel.
Between its moves neighbours swap, pairs (1, 2), (3, 4), .. and pairs (2, 3), (4, 5), .. in turn
(non-reversible, Okabe et al. 2001), each with probability

    min(1, exp((t_{k+1} - t_k) (log nu(x_k) - log nu(x_{k+1})))),

which leaves the product of all p_k invariant. Sources: Geyer 1991; ladder and turns as in Syed et
al. (2022), whose round trip rate is the greatest where all pairs are rejected equally often.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.samplers.chain import Kernel, accepts
from jumpbench.samplers.cost import Cost
from jumpbench.targets.base import DiscreteTarget, random_states
from jumpbench.targets.tempered import Tempered

UNSEEN, COLD, HOT = 0, 1, 2
_LEAST_REJECTED = 1e-3
"""A pair that is never rejected still gets this share of the ladder."""


class Ladder(NamedTuple):
    """B ladders of K replicas.

    Attributes:
        x: states (K, B, D), the hottest first.
        seen: (K, B) what end of the ladder a replica's state saw last: ``COLD``, or ``HOT`` since
            it was cold, or ``UNSEEN`` before it was cold at all.
        rounds: made so far; they decide which pairs are in turn.
    """

    x: Tensor
    seen: Tensor
    rounds: int = 0

    @classmethod
    def uniform(
        cls, target: DiscreteTarget, n_replicas: int, n: int, generator: torch.Generator
    ) -> "Ladder":
        """Independent uniform states."""
        x = random_states(target, (n_replicas, n), generator)
        return cls(x, torch.zeros(x.shape[:2], dtype=torch.uint8, device=x.device))


class TemperingInfo(NamedTuple):
    """What rounds did.

    Attributes:
        swap_rates: (K - 1,) mean probability of a swap of the pairs, the hottest first; NaN where
            a pair had no turn.
        turns: (K - 1,) rounds in which each pair had its turn.
        round_trips: (B,) how often a state came from the cold end to the hot one and back.
        cost: of the cold states, one sample per ladder.
    """

    swap_rates: Tensor
    turns: Tensor
    round_trips: Tensor
    cost: Cost


class ParallelTempering:
    """A round is ``moves`` steps of a kernel at every power, then swaps of the pairs in turn.

    The target must be positive: a state of log nu = -inf is a legal one at the power 0 alone.

    Args:
        kernel: Markov kernel that takes its moves from any target, such as
            :class:`~jumpbench.samplers.mcmc.gibbs.SystematicGibbs`; it moves all replicas at once,
            as chains of a :class:`~jumpbench.targets.tempered.Tempered` target with a power each.
        moves: its steps between swaps.
    """

    def __init__(self, kernel: Kernel, moves: int = 1) -> None:
        self.kernel, self.moves = kernel, moves

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        ladder: Ladder,
        powers: Tensor,
        rounds: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Ladder, TemperingInfo]:
        """``powers`` (K,), increasing to 1. What the kernel asks for at its start counts once."""
        x, seen = ladder.x, ladder.seen.clone()
        n_replicas, n, length = x.shape
        powers = powers.to(x.device)
        replicas = Tempered(target, powers.float())
        gaps = powers.diff().float()[:, None]
        probability = torch.zeros(n_replicas - 1, device=x.device)
        trips = torch.zeros(n, dtype=torch.long, device=x.device)
        _, nothing = self.kernel(target, x[-1, :1], 0, generator)
        evaluations, steps, turns = max(1.0, nothing.energy_evaluations), 0, [0, 0]
        for turn in range(ladder.rounds, ladder.rounds + rounds):
            flat, info = self.kernel(replicas, x.reshape(-1, length), self.moves, generator)
            evaluations += info.energy_evaluations - nothing.energy_evaluations
            steps += info.sequential_steps
            log_prob = target.log_prob(flat).view(n_replicas, n)
            require(log_prob.isfinite(), "parallel tempering needs log_prob to be finite")
            log_ratio = gaps * (log_prob[:-1] - log_prob[1:])
            first = turn % 2
            turns[first] += 1
            probability[first::2] += log_ratio[first::2].clamp(max=0).exp().mean(-1)
            swapped = torch.zeros_like(seen, dtype=torch.bool)[:-1]
            swapped[first::2] = accepts(log_ratio[first::2], generator)
            # Where each replica's state comes from: its neighbour of the swapped pair, or itself.
            source = torch.arange(n_replicas, device=x.device)[:, None].repeat(1, n)
            source[:-1] += swapped.long()
            source[1:] -= swapped.long()
            x = flat.view(x.shape).gather(0, source[..., None].expand(x.shape))
            seen = seen.gather(0, source)
            seen[0] = torch.where(seen[0] == COLD, HOT, seen[0])
            trips += seen[-1] == HOT
            seen[-1] = COLD
        made = torch.tensor(turns, device=x.device)[torch.arange(n_replicas - 1) % 2]
        cost = Cost(energy_evaluations=n_replicas * evaluations, sequential_steps=steps)
        info_out = TemperingInfo(probability / made, made, trips, cost)
        return Ladder(x, seen, ladder.rounds + rounds), info_out


def tuned(powers: Tensor, swap_rates: Tensor) -> Tensor:
    """Powers (K,) at which all pairs are rejected equally often, from what the pairs did.

    Rejections add up along the ladder nearly as distances do, so that the new powers stand at
    equal steps of their sum, interpolated linearly (Syed et al. 2022, algorithm 2). The ends stay.
    """
    rejected = (1 - swap_rates.double()).nan_to_num(nan=0.5).clamp(min=_LEAST_REJECTED)
    barrier = torch.cat((rejected.new_zeros(1), rejected.cumsum(0)))
    wanted = torch.linspace(0, 1, len(powers), dtype=torch.float64, device=barrier.device)
    inside = (wanted[1:-1] * barrier[-1]).contiguous()
    index = torch.searchsorted(barrier, inside).clamp(1, len(powers) - 1)
    share = (inside - barrier[index - 1]) / rejected[index - 1]
    powers = powers.double()
    between = powers[index - 1] + share * (powers[index] - powers[index - 1])
    return torch.cat((powers[:1], between, powers[-1:]))
