"""Theorem 6: a chain of generalised Plackett-Luce steps that reaches any law on S_n (Figure 3)."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.methods.symmetric_diffusers.distributions import GeneralisedPlackettLuce
from jumpbench.processes.permutations import all_permutations, compose, inverse
from jumpbench.samplers.draws import Draws


class ReachedLaws(Method):
    """Laws on S_n along the chain from uniform to ``target``; nothing is drawn.

    Results: ``mass@K,PERMUTATION`` for the start (K = 0) and after every step, permutations in
    one-line notation (``mass@2,132``), and ``final_error``, the largest deviation from the target.

    Raises:
        UserError: the target is no probability vector over S_n.
    """

    def __init__(self, n: int, target: Sequence[float], seed: int = 0) -> None:
        super().__init__(seed)
        self.n = n
        self.target = torch.tensor(target, dtype=torch.float64)
        try:
            self.laws = laws_along(self.target, n)
        except ValueError as error:
            raise UserError(f"method.target: {error}") from None

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        return Draws(torch.empty(0, self.n, dtype=torch.long))

    def further_results(self) -> dict[str, float]:
        names = ["".join(str(v + 1) for v in row) for row in all_permutations(self.n).tolist()]
        values = {
            f"mass@{step},{name}": mass
            for step, law in enumerate(self.laws)
            for name, mass in zip(names, law.tolist(), strict=True)
        }
        return values | {"final_error": float((self.laws[-1] - self.target).abs().max())}

    def further_artifacts(self) -> dict[str, Any]:
        return {"laws": self.laws}


def laws_along(target: Tensor, n: int) -> Tensor:
    """Laws ``(K + 1, n!)`` of the chain to ``target``: uniform, then after each of its K steps."""
    laws = [torch.full(target.shape, 1 / len(target), dtype=torch.float64)]
    for scores in chain_to(target, n):
        laws.append(push_forward(laws[-1], scores))
    return torch.stack(laws)


def chain_to(target: Tensor, n: int) -> Iterator[Tensor]:
    """Score matrices ``(n!, n, n)``, one per state, of every step of a chain to ``target (n!,)``.

    Permutations are in lexicographic order, so entries 2i and 2i + 1 are the pair (sigma_i, pi_i)
    that differs by the swap of the last two positions. All mass first goes to pi_1. Then, for each
    pair: what exceeds the pair's share p(sigma_i) + p(pi_i) moves to sigma_i, and from there to
    pi_{i+1}; the share is split between pi_i and sigma_i. The split moves
    ``p(sigma_i) / (p(sigma_i) + p(pi_i))`` of it; the paper divides by 1 - excess, which is the
    same for the first pair only. Steps that would move nothing are left out.

    Raises:
        ValueError: the target is no probability vector over S_n.
    """
    group = all_permutations(n)
    if target.shape != (len(group),) or (target < 0).any() or abs(float(target.sum()) - 1) > 1e-9:
        raise ValueError(f"the target must be a probability vector of {len(group)} entries")
    yield _send(group, range(len(group)), 1)
    left = 1.0
    shares = target.double().view(-1, 2)
    for pair, (at_sigma, at_pi) in enumerate(shares.tolist()):
        sigma, pi = 2 * pair, 2 * pair + 1
        share = at_sigma + at_pi
        # The last pair takes what is left, whatever rounding says.
        excess = 0.0 if pair == len(shares) - 1 else max(0.0, left - share)
        if excess > 0:
            yield _swap_last(group, pi, excess / left)
            yield _send(group, [sigma], pi + 2)
        if at_sigma > 0:
            yield _swap_last(group, pi, at_sigma / share)
        left = excess


def push_forward(law: Tensor, scores: Tensor) -> Tensor:
    """Law ``(n!,)`` after a GPL step with these scores ``(n!, n, n)`` in each state."""
    group = all_permutations(scores.shape[-1])
    reverse = compose(inverse(group)[:, None], group[None])  # a^{-1} b takes state a to state b
    step = GeneralisedPlackettLuce(scores[:, None]).log_prob(reverse).exp()
    return law @ step


def _stay(group: Tensor) -> Tensor:
    """Scores that force the identity in every state."""
    n = group.shape[-1]
    scores = torch.full((len(group), n, n), -torch.inf, dtype=torch.float64)
    scores.diagonal(dim1=-2, dim2=-1).zero_()
    return scores


def _send(group: Tensor, sources: range | list[int], to: int) -> Tensor:
    """Scores that force the move from each source state to state ``to``; the others stay."""
    scores = _stay(group)
    for source in sources:
        step = compose(inverse(group[source]), group[to])
        scores[source] = -torch.inf
        scores[source].scatter_(-1, step.unsqueeze(-1), 0.0)
    return scores


def _swap_last(group: Tensor, state: int, probability: float) -> Tensor:
    """Scores that exchange the last two positions of one state with this probability."""
    scores = _stay(group)
    weights = torch.tensor([1 - probability, probability], dtype=torch.float64)
    scores[state, -2, -2:] = weights.log()
    scores[state, -1, -2:] = 0.0
    return scores
