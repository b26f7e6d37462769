"""Blackout on enumerable counts as a method: what losses and samplers do, without any noise."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from jumpbench.errors import UserError
from jumpbench.methods.blackout.enumeration import (
    EnumeratedCounts,
    bridge_steps,
    corrector_steps,
    poisson_steps,
    textbook,
    transport_distance,
)
from jumpbench.methods.blackout.losses import regression
from jumpbench.methods.blackout.model import LostUnits
from jumpbench.methods.blackout.module import Blackout
from jumpbench.metrics.histogram import total_variation
from jumpbench.samplers.draws import Draws


class TabularLost(nn.Module):
    """One parameter per time, state and site in place of a network; y starts at log 2.

    A table shares nothing between times, and Adam moves every entry at its own pace, so that the
    losses' weights decide only how fast each is learned, not what.
    """

    place: Tensor

    def __init__(self, steps: int, maximum: int, sites: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(steps, (maximum + 1) ** sites, sites))
        place = (maximum + 1) ** torch.arange(sites - 1, -1, -1)
        self.register_buffer("place", place, persistent=False)

    def raw(self, x: Tensor, k: Tensor) -> Tensor:
        return self.table[k - 1, (x * self.place).sum(-1)]

    def forward(self, x: Tensor, k: Tensor) -> Tensor:
        return softplus(self.raw(x, k))

    def at(self, x: Tensor, k: int) -> Tensor:
        return self(x, torch.full((len(x),), k, device=x.device))


class EnumeratedBlackout(Blackout):
    """Blackout on a law p0 of few counts, trained or with its true conditional means.

    Results: ``tv@SAMPLER`` and ``transport@SAMPLER``, total variation and Wasserstein distance (one
    site) of the sampler's law from p0, for the samplers ``nearest`` and ``stochastic`` (binomial
    bridge), ``poisson``, ``textbook`` (leaps with frozen rates), ``corrected`` (two corrector steps
    of a quarter after each Poisson leap; up to 16 states); with true means also ``posterior``, the
    bridge with X_0 drawn from its posterior (up to 16 states). They are laws, not histograms: the
    draws themselves are not judged.

    Args:
        law: p0, nested lists with one axis of size M + 1 per site.
        trained: use the trained table; otherwise the true conditional means.
        options: of :class:`~jumpbench.methods.blackout.module.Blackout`; ``process`` must have the
            maximum of the law. Those of a network's input and output have no effect on a table.

    Raises:
        UserError: a law that is none, or has another maximum than the process.
    """

    def __init__(self, law: Any, trained: bool = True, **options: Any) -> None:
        counts = EnumeratedCounts(law)
        sites = counts.states.shape[1]
        super().__init__(nn.Identity(), shape=(sites,), **options)
        table = TabularLost(self.grid.steps, counts.maximum, sites)
        self.network = cast(LostUnits, table)  # its call, ``raw`` and ``at``
        if counts.maximum != self.process.maximum:
            raise UserError(
                f"the law has values 0..{counts.maximum}, the process 0..{self.process.maximum}"
            )
        self.counts = counts
        self.trained = trained

    def on_fit_start(self) -> None:
        steps = range(1, self.grid.steps + 1)
        law = torch.stack([self.counts.marginal(self.grid, k) for k in steps])
        lost = torch.stack([self.counts.lost(self.grid, k) for k in steps])
        self._expected = law.float().to(self.device), lost.float().to(self.device)

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        """The loss itself, its expectation over k, X_0 and X_t written out."""
        law, lost = self._expected
        per_state = regression(
            cast(TabularLost, self.network).table.flatten(0, 1), lost.flatten(0, 1)
        )
        return (self.weight[1:] * (law * per_state.view_as(law)).sum(1)).mean()

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        if self.trained:
            return self.sample(len(batch), generator)
        return self._true_samples(len(batch), generator)

    def _true_samples(self, count: int, generator: torch.Generator) -> Draws:
        """Samples of p0 itself: with true means there is no network to draw with."""
        law = self.counts.law.to(self.device)
        index = torch.multinomial(law, count, replacement=True, generator=generator)
        return Draws(self.counts.states.to(self.device)[index])

    def mean_lost(self, k: int) -> Tensor:
        """y (S, D) of every state at t_k, float64."""
        if not self.trained:
            return self.counts.lost(self.grid, k)
        states = self.counts.states.to(self.device)
        with torch.no_grad():
            return self.network.at(states, k).double().cpu()

    def further_results(self) -> dict[str, float]:
        counts, grid, stride = self.counts, self.grid, self.stride
        top = counts.maximum
        means = {k: self.mean_lost(k) for k in grid.visits(stride)}

        def reached(**how: Any) -> Tensor:
            return counts.sampled_law(grid=grid, lost=means.__getitem__, stride=stride, **how)

        laws = {
            "nearest": reached(steps=bridge_steps(top, stochastic=False)),
            "stochastic": reached(steps=bridge_steps(top, stochastic=True)),
            "poisson": reached(steps=poisson_steps(top)),
            "textbook": reached(steps=poisson_steps(top), factors=textbook(grid, stride)),
        }
        few = len(counts.states) <= 16
        if few:
            laws["corrected"] = reached(
                steps=poisson_steps(top), corrector=corrector_steps(top, grid, 0.25, stride)
            )
        if not self.trained and few:
            laws["posterior"] = counts.exact_law(grid, stride)
        values = {
            f"tv@{name}": float(total_variation(law, counts.law)) for name, law in laws.items()
        }
        if counts.states.shape[1] == 1:
            values |= {
                f"transport@{name}": transport_distance(law, counts.law)
                for name, law in laws.items()
            }
        return values | {"entropy": counts.entropy()}
