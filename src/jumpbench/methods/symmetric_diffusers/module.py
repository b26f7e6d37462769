"""SymmetricDiffusers: learn to undo the shuffling of a list, step by step."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.methods.symmetric_diffusers.distributions import PermutationDistribution
from jumpbench.methods.symmetric_diffusers.losses import (
    LabelLoss,
    check_possible,
    squared_distances,
    transition_distances,
)
from jumpbench.methods.symmetric_diffusers.sampler import Decoder, Greedy
from jumpbench.methods.symmetric_diffusers.transitions import Transitions, WholeTrajectories
from jumpbench.networks.permutation_transformer import PermutationTransformer
from jumpbench.networks.tour_transformer import TourTransformer
from jumpbench.processes.permutations import apply, compose, identity
from jumpbench.processes.shuffles import Shuffle
from jumpbench.samplers.cost import Meter
from jumpbench.samplers.draws import Draws, narrow, timed


class SymmetricDiffuser(TrainedMethod):
    """The reverse chain p_theta(X_{t_{i-1}} | X_{t_i}) of a shuffle, trained and decoded.

    Batches are those of :class:`~jumpbench.data.lists.ListData`. In training the ordered list is
    shuffled forward and every scheduled step is undone; in the test stage the list as presented
    takes the place of X_T and is put in order by every decoder.

    Args:
        network: ``encode(objects)`` and ``forward(tokens, t)``, see
            :mod:`jumpbench.networks.permutation_transformer`.
        family: the network's scores -> the law of the reverse step.
        shuffle: n -> the forward shuffle.
        schedule: [0, t_1, ..., T].
        decoders: by name, each a way to draw: samples are its most probable lists, all its
            hypotheses are ``extras["tours"]``.
        optimizer: see :class:`~jumpbench.methods.common.trained.TrainedMethod`.
        scheduler: likewise.
        transitions: which steps of the batch's trajectories are trained.
        loss: of the scores of those steps.
        fixed: positions at the front that are never shuffled (1 for tours).
        compile: compile the network (CUDA graphs on a GPU); batches must keep their shape.
        evaluation: such as :class:`~jumpbench.evaluations.lists.ListEvaluation`.

    Raises:
        UserError: a schedule that does not start at 0, does not increase or has other than whole
            numbers; no decoder; in training, ``fixed`` leaves fewer than two objects, or the
            first step has transitions that the family cannot make.
    """

    network: PermutationTransformer | TourTransformer

    def __init__(
        self,
        network: nn.Module,
        family: Callable[[Tensor], PermutationDistribution],
        shuffle: Callable[[int], Shuffle],
        schedule: Sequence[int],
        decoders: Mapping[str, Decoder],
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        transitions: Callable[..., Transitions] | None = None,
        loss: nn.Module | None = None,
        fixed: int = 0,
        compile: bool = False,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, scheduler, evaluation, seed)
        whole = all(isinstance(time, int) for time in schedule)
        rises = whole and sorted(set(schedule)) == [*schedule]
        if not rises or len(schedule) < 2 or schedule[0] != 0:
            raise UserError(
                f"schedule={list(schedule)}: give rising times from 0, whole ones as [0, 2, 7]"
            )
        if not decoders:
            raise UserError("decoders={}: give one way to draw or more, as {'greedy': Greedy()}")
        self.family = family
        self.shuffle = shuffle
        self.schedule = list(schedule)
        self.decoders = dict(decoders)
        self.transitions = transitions or WholeTrajectories()
        self.loss = loss or LabelLoss()
        self.fixed = fixed
        self._compile = compile
        self._score = self.score_states
        self._unchecked = False  # whether the next step is the first one of a fit

    def configure_model(self) -> None:
        if self._compile:
            on_gpu = self.trainer.strategy.root_device.type == "cuda"
            mode = "reduce-overhead" if on_gpu else "default"
            self._score = torch.compile(self.score_states, mode=mode, fullgraph=True)

    def on_train_start(self) -> None:
        super().on_train_start()
        self._unchecked = True

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        lists, n = batch["order"].shape
        moved = self.draw_transitions(lists, n, self.generator("shuffle"))
        # X_t = ordered[later] = presented[order[later]]: objects are encoded in the list as
        # presented, once, and only their encodings are permuted.
        places = compose(batch["order"].expand_as(moved.later), moved.later)
        if self._compile:
            torch.compiler.cudagraph_mark_step_begin()
        self.meter.count("network", places)
        scores = self._score(batch["objects"], places, moved.times)
        with torch.autocast(self.device.type, enabled=False):
            law, target = self.family(scores), moved.target.flatten(0, 1)
            loss = self.loss(
                law,
                target,
                self._distances(batch, moved) if self.loss.needs_objects else None,
                self.generator("latent") if self.loss.needs_objects else None,
            )
        if self._unchecked:  # once a fit, because reading the loss waits for the device
            self._unchecked = False
            if not loss.isfinite():
                check_possible(law, target, self.shuffle(n - self.fixed), self.schedule)
        return self.logged(loss)

    def score_states(self, objects: Tensor, places: Tensor, times: Tensor) -> Tensor:
        """Scores (S * B, ...) of the lists ``objects[places]``, places (S, B, n), times (S, B)."""
        tokens = self.network.encode(objects)
        lists = apply(places, tokens.expand(len(places), *tokens.shape)).flatten(0, 1)
        return self.network(lists, times.flatten())

    def draw_transitions(self, lists: int, n: int, generator: torch.Generator) -> Transitions:
        """Steps to undo for ``lists`` lists of n objects, the fixed front left in place.

        Raises:
            UserError: fewer than two objects are not fixed.
        """
        if self.fixed > n - 2:
            raise UserError(
                f"fixed={self.fixed} of {n} objects leaves nothing to order: set method.fixed to "
                f"{n - 2} at most"
            )
        moved = self.transitions(self.shuffle(n - self.fixed), self.schedule, lists, generator)
        if not self.fixed:
            return moved
        return Transitions(
            keep_front(moved.earlier, self.fixed), keep_front(moved.later, self.fixed), moved.times
        )

    def _distances(self, batch: Batch, moved: Transitions) -> Tensor:
        between = squared_distances(apply(batch["order"], batch["objects"]))
        return transition_distances(between, moved.earlier, moved.later).flatten(0, 1)

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        predicted = self.decode(batch, Greedy(), self.generator("valid"))[:, 0]
        right = 100.0 * (predicted == batch["order"]).all(-1)
        self.log("valid/accuracy", right.mean(), batch_size=len(right), sync_dist=True)

    def draw(self, batch: Batch, generator: torch.Generator) -> dict[str, Draws]:
        return {
            name: timed(partial(self._decoded, batch, way, generator))
            for name, way in self.decoders.items()
        }

    def _decoded(self, batch: Batch, decoder: Decoder, generator: torch.Generator) -> Draws:
        meter = Meter()
        tours = narrow(self.decode(batch, decoder, generator, meter))
        cost = meter.per_sample(len(tours), len(self.schedule) - 1)
        return Draws(tours[:, 0].long(), cost=cost, extras={"tours": tours})

    def decode(
        self, batch: Batch, decoder: Decoder, generator: torch.Generator, meter: Meter | None = None
    ) -> Tensor:
        """Index arrays (B, H, n) that order the presented ``objects``, the most probable first."""
        tokens = self.network.encode(batch["objects"])

        def law_at(states: Tensor, time: int) -> PermutationDistribution:
            if meter is not None:
                meter.count("network", states)
            held = tokens.unsqueeze(1).expand(-1, states.shape[1], *tokens.shape[1:])
            current = apply(states, held).flatten(0, 1)
            times = torch.full((len(current),), time, device=current.device)
            return self.family(self.network(current, times).unflatten(0, states.shape[:2]))

        lists, n = tokens.shape[:2]
        start = identity(lists, 1, n=n, device=generator.device)
        return decoder(law_at, self.schedule, start, generator)


def keep_front(permutation: Tensor, fixed: int) -> Tensor:
    """Permutations of n - fixed objects as ones of n objects that leave the first ones alone."""
    front = torch.arange(fixed, device=permutation.device)
    return torch.cat([front.expand(*permutation.shape[:-1], fixed), permutation + fixed], dim=-1)
