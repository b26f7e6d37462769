"""Markov chains as methods: rows of MCMC beside learned samplers."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.metrics.summaries import summaries
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.diagnostics import integrated_autocorrelation_time, split_rhat
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.returned import check_form, check_symbols
from jumpbench.seeding import make_generator
from jumpbench.stopwatch import Stopwatch
from jumpbench.targets.base import DiscreteTarget, check_target, random_states
from jumpbench.targets.consistency import check_consistency

LEAST_KEPT = 4
"""Configurations of a chain that the diagnostics need."""


class Chains(TargetSampler):
    """Parallel Markov chains, run in the test stage; one test batch is one ensemble of chains.

    Chains start from uniform states, make ``burn_in`` moves, and give one configuration each after
    every ``spacing`` further moves; what a move is, the kernel says. Samples come chains first:
    configuration ``chain * collections + draw``. Every sample carries, as extras, its ensemble's
    ``moves_per_chain``, ``tau`` and ``rhat`` (the largest over
    :func:`~jumpbench.metrics.summaries.summaries`, in kept draws).

    The defaults are those of the published Metropolis rows of DASBS, in single proposals: 114
    sweeps at L = 24, which do not equilibrate below the critical temperature.

    A run's ``seconds`` and its ``budget["energy_evaluations"]`` are shared evenly among its
    ensembles. The burn-in is repeated while the ensemble's share of the energies has room for one
    more and for the collection after it. What a kernel asks for at its start is counted once per
    chain, which knows its state when it goes on.

    Args:
        target: the law, such as an Ising or Potts model.
        kernel: Markov kernel that leaves the target invariant.
        collections: configurations kept of each chain, at least 4 (for the diagnostics). A test
            batch of B samples is an ensemble of B / ``collections`` chains.
        burn_in: moves before the first configuration counts.
        spacing: moves per kept configuration.
        seconds: a budget by a stopwatch; the burn-in is repeated until it has taken so long.
        burn_in_share: of a budget; below 1 the rest is for the kept draws, whose spacing follows
            from how far the burn-in came.
        most_kept: with such a share, configurations kept of each chain in the test stage: all that
            the rest of the budget has moves for, up to so many, then further apart. A test batch
            thus has more samples, or fewer, than numbers. None: ``collections``.
        kwargs: of :class:`TargetSampler`.

    Raises:
        UserError: counts out of range; samples that are no whole number of chains.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        kernel: Kernel,
        collections: int = 32,
        burn_in: int = 65536,
        spacing: int = 128,
        seconds: float | None = None,
        burn_in_share: float = 1.0,
        most_kept: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(target, **kwargs)
        if collections < LEAST_KEPT or burn_in < 0 or spacing < 1 or (seconds or 0) < 0:
            raise UserError(
                "chains need collections >= 4, burn_in >= 0, spacing >= 1 and seconds >= 0, not "
                f"{collections}, {burn_in}, {spacing} and {seconds}"
            )
        if seconds and not burn_in:
            raise UserError("chains with a budget of seconds repeat the burn-in: set burn_in >= 1")
        if not 0 < burn_in_share <= 1:
            raise UserError(f"burn_in_share must be in (0, 1], not {burn_in_share}")
        if most_kept is not None and (most_kept < LEAST_KEPT or burn_in_share == 1):
            raise UserError(
                f"most_kept={most_kept} must be at least {LEAST_KEPT}, with burn_in_share below 1"
            )
        self.kernel = kernel
        self.burn_in_share = burn_in_share
        self.most_kept = most_kept
        self.collections = collections
        self.burn_in = burn_in
        self.spacing = spacing
        self.seconds = seconds
        self._start: Cost | None = None

    def test_generator(self, number: int) -> torch.Generator:
        names = "test", type(self).__name__, type(self.kernel).__name__
        return make_generator(self.seed, *names, number, device=self.device)

    def chains_of(self, n: int) -> int:
        """How many chains give ``n`` samples."""
        if n % self.collections:
            raise UserError(
                f"{n} samples are no whole number of chains of {self.collections}: choose "
                "data.n_samples and data.batch_size that method.collections divides"
            )
        return n // self.collections

    def start(self, n_chains: int, generator: torch.Generator) -> Tensor:
        """Initial states (B, D) uint8."""
        x = random_states(self.target, (n_chains,), generator)
        check_target(self.target, x)
        check_consistency(self.target, x)
        return x.to(torch.uint8)

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        if self.most_kept is None:
            return super().draw(batch, generator)
        return self._run(len(batch), generator, self.most_kept)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        """``n`` samples of one ensemble of chains."""
        return self._run(n, generator)

    def _run(self, n: int, generator: torch.Generator, most: int | None = None) -> Draws:
        """One ensemble of as many chains as ``n`` samples need; ``most`` kept of each."""
        n = self.chains_of(n)
        limit = self.budget.get("energy_evaluations")
        if limit is not None and not self.burn_in:
            raise UserError("chains with a budget repeat the burn-in: set burn_in >= 1")
        watch, x, cost, moves = Stopwatch(self.device), self.start(n, generator), Cost(), 0
        cost += self._start_cost(x)
        while moves == 0 or self._has_room(n, moves, cost, watch):
            x, spent = self.go_on(x, self.burn_in, generator)
            cost += spent
            moves += self.burn_in
            if not self.burn_in:
                break
        spacing, kept = self.spacing, self.collections
        if self.burn_in_share < 1 and (limit is not None or self.seconds):
            rest = int(moves * (1 / self.burn_in_share - 1))
            kept = min(max(rest, LEAST_KEPT), most) if most else kept
            spacing = max(1, rest // kept)
        watch.finished()  # what is left of the burn-in is no part of the draws
        watch = Stopwatch(self.device)
        _, samples, spent = self.collect(x, spacing, kept, generator)
        moves += kept * spacing
        values = {"moves_per_chain": float(moves), "draw_seconds": watch.finished()}
        return self.ensemble(samples, cost + spent, values | self.observed())

    def observed(self) -> dict[str, float]:
        """Further extras of an ensemble."""
        return {}

    def kept(self, x: Tensor) -> Tensor:
        """The states (B, D) that count, of those that :meth:`go_on` takes."""
        return x

    def _has_room(self, n: int, moves: int, cost: Cost, watch: Stopwatch) -> bool:
        """Whether ``n`` chains that made ``moves`` at ``cost`` may repeat their burn-in."""
        limit, share = self.budget.get("energy_evaluations"), self.burn_in_share / self._count
        if self.seconds and watch.finished() >= share * self.seconds:
            return False
        if limit is None:
            return bool(self.seconds)
        to_come = self.burn_in + (self.collections * self.spacing if self.burn_in_share == 1 else 0)
        return n * cost.energy_evaluations * (1 + to_come / moves) <= share * limit

    def go_on(self, x: Tensor, moves: int, generator: torch.Generator) -> tuple[Tensor, Cost]:
        """States after further moves, and their cost without that of a start."""
        start = self._start_cost(x)
        moved, info = self.kernel(self.target, x, moves, generator)
        check_form(self.kernel, moved, tuple(x.shape), x.dtype)
        return moved, info.cost + start.scaled(-1)

    def _start_cost(self, x: Tensor) -> Cost:
        if self._start is None:
            unused = make_generator(0, "start", device=x.device)
            self._start = self.kernel(self.target, x[:1], 0, unused)[1].cost
        return self._start

    def collect(
        self, x: Tensor, spacing: int, kept: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Cost]:
        """The last states, the ``kept`` ones (B, kept, D), and the cost per chain."""
        samples, cost = [], Cost()
        for _ in range(kept):
            x, spent = self.go_on(x, spacing, generator)
            cost += spent
            samples.append(self.kept(x))
        return x, torch.stack(samples, 1), cost

    def ensemble(self, chains: Tensor, cost: Cost, values: dict[str, float]) -> Draws:
        """Draws of one ensemble (B, kept, D); a chain's samples share its cost."""
        samples = chains.flatten(0, 1)
        check_symbols(self.kernel, samples, self.target.n_states)
        values = values | diagnostics(self.target, chains)
        extras = {
            name: torch.full((len(samples),), value, dtype=torch.float64)
            for name, value in values.items()
        }
        return Draws(samples.long(), cost=cost.scaled(1 / chains.shape[1]), extras=extras)


def diagnostics(target: DiscreteTarget, samples: Tensor) -> dict[str, float]:
    """Worst autocorrelation time (in kept draws) and R-hat over
    :func:`~jumpbench.metrics.summaries.summaries`.

    ``samples`` (chains, n, D).
    """
    values = summaries(target, samples)
    worst = torch.stack(
        (integrated_autocorrelation_time(values).max(), split_rhat(values).max())
    ).tolist()
    return {"tau": worst[0], "rhat": worst[1]}
