"""Steps of a flow sampler's learner inside Lightning: roll-outs, losses, curves, checkpoints."""

from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import FlowPaths
from jumpbench.samplers.weights import effective_sample_size
from jumpbench.targets.base import DiscreteTarget


class FlowTraining(Method, ABC):
    """A method that trains a :class:`Learner`; a subclass makes it and says on what laws.

    Artifacts: ``curves``, a point a roll-out: ``step``, the spreads over trajectories of both
    estimators of d/dt log Z_t, ``slope_std`` and ``integrand_std``, averaged over grid points
    (Figure 1), ``ess``, and the mean ``loss`` since the roll-out before.
    """

    learner: Learner
    refresh_every: int

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.curves: dict[str, list[float]] = {}
        self._losses: list[Tensor] = []
        self._stored: dict[str, Any] | None = None

    @abstractmethod
    def laws(self, batch: Any) -> DiscreteTarget:
        """The target of the next roll-out."""

    @abstractmethod
    def kind(self) -> DiscreteTarget:
        """A target that stored laws are restored as; see :meth:`Learner.restore`."""

    def use(self, learner: Learner, refresh_every: int) -> None:
        """Take over a learner, whose evaluations count as this method's."""
        if refresh_every < 1:
            raise UserError(f"refresh_every must be at least 1, not {refresh_every}")
        self.learner, self.refresh_every = learner, refresh_every
        self._sizes = {"chains": learner.chains, "batch_size": learner.batch_size}
        learner.meter = self.meter

    def on_fit_start(self) -> None:
        super().on_fit_start()
        for name, size in self._sizes.items():
            setattr(self.learner, name, self.share(size, name))

    def on_train_start(self) -> None:
        super().on_train_start()
        if self._stored is not None:
            self.learner.restore(self._stored, self.kind(), self.device)
            self._stored = None

    def training_step(self, batch: Any, batch_index: int) -> Tensor | None:
        if self.global_step % self.refresh_every == 0:
            laws = self.laws(batch)
            self._record(self.learner.refresh(laws, self.generator("paths"), self._mean))
        loss = self.learner.loss(self.generator("pairs"))
        self._losses.append(loss.detach())
        return loss

    def _mean(self, estimate: Tensor) -> Tensor:
        """Over processes, whose trajectories differ; laws of their own are not averaged."""
        if self.trainer.world_size == 1 or estimate.shape[-1] > 1:
            return estimate
        return cast(Tensor, self.all_gather(estimate)).mean(0)

    def _record(self, paths: FlowPaths) -> None:
        """Spreads over the trajectories of each law, whose Z is its own; their means over laws."""
        each = (-1, self.learner.laws, self.learner.chains // self.learner.laws)
        none_yet = not self._losses
        losses = paths.slopes.new_tensor([torch.nan]) if none_yet else torch.stack(self._losses)
        self._losses = []
        point = {
            "slope_std": paths.slopes.view(each).std(-1).mean(),
            "integrand_std": paths.integrands.view(each).std(-1).mean(),
            "ess": effective_sample_size(paths.log_weights.view(self.learner.laws, -1)).mean(),
            "loss": losses.mean(),
        }
        values = dict(zip(point, torch.stack([v.double() for v in point.values()]).tolist(),
                          strict=True))  # fmt: skip
        for name, value in {"step": float(self.global_step), **values}.items():
            self.curves.setdefault(name, []).append(value)
        if none_yet:  # the first roll-out: a logged loss that is no number ends a run as diverged
            del values["loss"]
        self.log_dict({f"train/{name}": value for name, value in values.items()})

    def further_results(self) -> dict[str, float]:
        """The last spreads of the estimators, and the mean loss since the last roll-out."""
        values = super().further_results()
        for name in ("slope_std", "integrand_std"):
            if name in self.curves:
                values[name] = self.curves[name][-1]
        if self._losses:
            values["loss"] = float(torch.stack(self._losses).mean())
        return values

    def further_artifacts(self) -> dict[str, Any]:
        curves = {name: torch.tensor(values) for name, values in self.curves.items()}
        return super().further_artifacts() | ({"curves": curves} if curves else {})

    def own_state(self) -> dict[str, Any]:
        flow = {
            "learner": self.learner.plain(),
            "curves": self.curves,
            "losses": [float(loss) for loss in self._losses],
        }
        return super().own_state() | {"flow": flow}

    def restore_own(self, state: dict[str, Any]) -> None:
        super().restore_own(state)
        flow = state["flow"]
        self._stored, self.curves = flow["learner"], flow["curves"]
        self._losses = [torch.tensor(loss, device=self.device) for loss in flow["losses"]]
