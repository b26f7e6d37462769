"""What is reported about ordered lists: the same for the diffuser and for every baseline."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from jumpbench.data.lists import Batch
from jumpbench.metrics.permutation import kendall_tau, kendall_tau_rank
from jumpbench.processes.permutations import apply
from jumpbench.solvers.tour_solvers import tour_length

RMSE_BATCH = 64


class ListScores(Metric):
    """Means over the test lists, of the true index array g and the predicted one h.

    - ``kendall_tau``: of the pairs (g[i], h[i]), as the paper's code has it;
      ``kendall_tau_rank``: of the ranks that g and h give to every object;
    - ``accuracy``: percent of lists with h = g; ``correct``: percent of places with h[i] = g[i];
    - ``accuracy_ceiling``, ``correct_ceiling``: what the best method can expect when objects of one
      group cannot be told apart: prod_g 1 / m_g! and (number of groups) / n, in percent;
    - ``n_samples``: number of lists.
    """

    full_state_update = False
    names: tuple[str, ...] = (
        "kendall_tau",
        "kendall_tau_rank",
        "accuracy",
        "correct",
        "accuracy_ceiling",
        "correct_ceiling",
    )

    def __init__(self) -> None:
        super().__init__()
        for name in self.names:
            self.add_state(name, torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("lists", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, found: Tensor, batch: Batch, data: Any) -> None:
        """``found`` (B, n), or hypotheses (B, H, n) the best of which comes first."""
        found = found if found.dim() == 2 else found[:, 0]
        order = batch["order"]
        right = found == order
        accuracy, correct = ceilings(batch["groups"])
        self._add(
            kendall_tau=kendall_tau(order, found),
            kendall_tau_rank=kendall_tau_rank(order, found),
            accuracy=100 * right.all(-1),
            correct=100 * right.double().mean(-1),
            accuracy_ceiling=100 * accuracy,
            correct_ceiling=100 * correct,
        )
        self.lists += len(order)

    def _add(self, **values: Tensor) -> None:
        for name, value in values.items():
            setattr(self, name, getattr(self, name) + value.double().sum())

    def compute(self) -> dict[str, Tensor]:
        means = {name: getattr(self, name) / self.lists for name in self.names}
        return means | {"n_samples": self.lists}


class JigsawScores(ListScores):
    """Also the distance of the ordered pieces from the image they were cut from.

    ``rmse`` is the square root of the mean squared difference over 64 lists at a time, averaged
    over these batches, ``mae`` the mean absolute difference, both on pixels as fed to the
    network. ``*_unit`` are on pixels in [0, 1], ``*_normalised`` on standardised pixels.
    ``accuracy_pixels``, ``correct_pixels`` forgive the exchange of identical pieces.
    """

    scales = ("", "_unit", "_normalised")
    names = (*ListScores.names, "accuracy_pixels", "correct_pixels")
    errors = ("rmse", "rmse_unit", "rmse_normalised", "mae", "mae_unit", "mae_normalised")

    def __init__(self) -> None:
        super().__init__()
        for name in (*self.errors, "batches"):
            self.add_state(name, torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, found: Tensor, batch: Batch, data: Any) -> None:
        super().update(found, batch, data)
        found = found if found.dim() == 2 else found[:, 0]
        pieces = apply(found, batch["objects"])
        truth = apply(batch["order"], batch["objects"])
        same = torch.isclose(pieces, truth).flatten(2).all(-1)
        self._add(accuracy_pixels=100 * same.all(-1), correct_pixels=100 * same.double().mean(-1))
        difference = pieces - truth  # (B, n, C, s, s)
        fed = torch.ones_like(data.unit)
        for scale, factor in zip(self.scales, (fed, data.unit, data.normalised), strict=True):
            scaled = difference * factor.to(difference.device).view(-1, 1, 1)
            for part in scaled.split(RMSE_BATCH):
                self._add(**{f"rmse{scale}": part.square().mean().sqrt()})
                self._add(**{f"mae{scale}": part.abs().mean()})
        self.batches += -(-len(found) // RMSE_BATCH)

    def compute(self) -> dict[str, Tensor]:
        errors = {name: getattr(self, name) / self.batches for name in self.errors}
        return super().compute() | errors


class TourScores(ListScores):
    """Closed tour lengths and gaps of the shortest final hypothesis.

    ``tour_length`` is a mean over instances, ``gap`` the mean of (length - label's) / label's, in
    percent; ``*_most_probable`` are those of the first hypothesis instead of the shortest.
    """

    names = ("tour_length", "gap", "tour_length_most_probable", "gap_most_probable", "label_length")

    def update(self, found: Tensor, batch: Batch, data: Any) -> None:
        tours = found if found.dim() == 3 else found.unsqueeze(1)
        lengths = tour_length(batch["objects"].unsqueeze(1), tours)
        label = tour_length(batch["objects"], batch["order"])
        shortest, first = lengths.amin(-1), lengths[:, 0]
        self._add(
            tour_length=shortest,
            gap=100 * (shortest - label) / label,
            tour_length_most_probable=first,
            gap_most_probable=100 * (first - label) / label,
            label_length=label,
        )
        self.lists += len(label)


def ceilings(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Best expected accuracy and correct share (B,) when objects of a group look alike.

    With groups of m_g objects: prod_g 1 / m_g!, and (number of groups) / n, since one place of
    each group is right in expectation.
    """
    same = groups.unsqueeze(-1) == groups.unsqueeze(-2)
    # The earlier members of its own group: 0, 1, .., m - 1 in each, so that factors multiply to m!
    before = same.tril(-1).sum(-1).double()
    return (1 / (before + 1)).prod(-1), (before == 0).double().mean(-1)
