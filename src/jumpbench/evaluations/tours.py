"""How long tours are, beside labels that a solver gave."""

import torch
from torch import Tensor

from jumpbench.data.lists import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws
from jumpbench.solvers.tours import tour_length


class TourEvaluation(Evaluation):
    """Closed tour lengths and gaps, means over instances.

    The gap of a tour is (its length - the label's) / the label's, in percent; a label that is not
    optimal allows negative gaps. A method that has several tours of an instance gives them as
    ``extras["tours"]`` (B, S, n), hypotheses of a beam or local optima of several starts:

    - ``tour_length``, ``gap``: the shortest of each instance;
    - ``tour_length_first``, ``gap_first``: the sample itself (the most probable hypothesis);
    - ``tour_length_mean``, ``gap_mean``: averaged over the tours of the instance.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lengths: dict[str, list[Tensor]] = {}

    def keep(self, batch: Batch) -> dict[str, Tensor]:
        return {"points": batch["objects"], "order": batch["order"]}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        tours = draws.extras.get("tours", draws.samples.unsqueeze(1)).long()
        lengths = tour_length(reference["points"].unsqueeze(1), tours)
        each = {
            "": lengths.amin(1),
            "_first": tour_length(reference["points"], draws.samples),
            "_mean": lengths.mean(1),
            "label": tour_length(reference["points"], reference["order"]),
        }
        for name, value in each.items():
            self._lengths.setdefault(name, []).append(value)

    def results(self) -> dict[str, float]:
        lengths = {name: torch.cat(parts) for name, parts in self._lengths.items()}
        label = lengths.pop("label")
        values = {"label_length": float(label.mean())}
        for name, length in lengths.items():
            values[f"tour_length{name}"] = float(length.mean())
            values[f"gap{name}"] = float((100 * (length - label) / label).mean())
        return values
