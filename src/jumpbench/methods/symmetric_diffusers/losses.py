"""Losses of the reverse steps: exact likelihood, and the latent loss that sees images only."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.distributions import PermutationDistribution
from jumpbench.processes.shuffles import Shuffle


class LabelLoss(nn.Module):
    """Mean over steps, trajectories and lists of -log p_theta(sigma' | X_t).

    The paper writes the sum over the k steps; its code, and this, the mean. The factor k matters
    only together with the clipping of the gradient.
    """

    needs_objects = False

    def forward(
        self,
        law: PermutationDistribution,
        target: Tensor,
        distances: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """``law`` of M lists and ``target`` (M, n) -> scalar."""
        return -law.log_prob(target).mean()


class LatentLoss(nn.Module):
    """Surrogate for -log sum_sigma' Normal(X_{t-1}; Q_sigma' X_t, I) p_theta(sigma' | X_t).

    sigma^(m), m = 1..N, are drawn from p_theta; with l_m = -1/2 ||X_{t-1} - Q_sigma^(m) X_t||^2
    over all pixels, w = softmax(l) and v_m = w_m - entropy * log p_theta(sigma^(m)), the loss is
    - mean sum_m (v_m - baseline) log p_theta(sigma^(m)), the gradient flowing through the last
    factor only. ``baseline`` is one running mean of v (0.995 old + 0.005 new, started at 0,
    updated before it is used). The sum over m has no 1/N, as in the paper, so the entropy counts
    N * ``entropy`` against the self-normalised first term. The value is no likelihood.
    """

    baseline: Tensor

    needs_objects = True

    def __init__(self, samples: int = 10, entropy: float = 0.05, memory: float = 0.995) -> None:
        super().__init__()
        if samples < 1:
            raise ValueError(f"samples={samples}: the estimate needs at least one permutation")
        self.samples, self.entropy, self.memory = samples, entropy, memory
        self.register_buffer("baseline", torch.zeros(()))

    def forward(
        self,
        law: PermutationDistribution,
        target: Tensor,
        distances: Tensor,
        generator: torch.Generator,
    ) -> Tensor:
        """``distances`` (M, n, n): squared distance of position i of X_{t-1} to object j of X_t."""
        with torch.no_grad():
            drawn = law.sample(generator, (self.samples,))  # (N, M, n)
            spread = distances.expand(self.samples, *distances.shape)
            fit = -0.5 * spread.gather(-1, drawn.unsqueeze(-1)).sum((-1, -2))
            weights = fit.softmax(0)
        log_prob = law.log_prob(drawn)
        value = weights - self.entropy * log_prob.detach()
        if self.training:
            self.baseline.mul_(self.memory).add_((1 - self.memory) * value.mean())
        return -((value - self.baseline) * log_prob).sum(0).mean()


def check_possible(
    law: PermutationDistribution, target: Tensor, shuffle: Shuffle, schedule: Sequence[int]
) -> None:
    """Say what to change where the steps ``target`` (M, n) cannot be those of ``law``.

    No learning rate mends a loss that is infinite because a step has probability 0.

    Raises:
        UserError: some step has probability 0.
    """
    if not law.log_prob(target).isneginf().any():
        return
    if law.scores.isneginf().any():
        way = "a head that pins the first object (reverse.head.pin_first) needs method.fixed=1"
    else:
        way = (
            f"take every step (method.schedule=${{every_step:{schedule[-1]}}}) of the shuffle that "
            "it undoes (method.shuffle), or reverse=symmetric_diffusers/gpl or pl"
        )
    raise UserError(
        f"{type(law).__name__} gives some steps of the schedule {list(schedule)} of "
        f"{type(shuffle).__name__} probability 0: {way}"
    )


def squared_distances(objects: Tensor) -> Tensor:
    """Between the objects (B, n, ...) of each list, (B, n, n).

    By differences: pieces that differ by noise only lie closer than a product form can resolve.
    """
    flat = objects.flatten(2).float()
    return (flat.unsqueeze(2) - flat.unsqueeze(1)).square().sum(-1)


def transition_distances(between: Tensor, earlier: Tensor, later: Tensor) -> Tensor:
    """Distances (S, B, n, n) of object i of ``earlier`` to j of ``later``, two orders of X_0.

    ``between`` holds those (B, n, n) of X_0 itself.
    """
    steps, _, n = earlier.shape
    spread = between.expand(steps, *between.shape)
    rows = spread.gather(2, earlier.unsqueeze(-1).expand(-1, -1, -1, n))
    return rows.gather(3, later.unsqueeze(2).expand(-1, -1, n, -1))
