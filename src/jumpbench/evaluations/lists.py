"""How well lists are put in order: sorting, jigsaws, fixed permutations."""

import torch
from torch import Tensor

from jumpbench.data.lists import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.permutation import kendall_tau, kendall_tau_rank, look_alike_ceilings
from jumpbench.processes.permutations import apply, check_permutations, is_permutation
from jumpbench.samplers.draws import Draws

RMSE_BATCH = 64


class ListEvaluation(Evaluation):
    """Means over the test lists, of the true index array g and the predicted one h (the samples).

    - ``kendall_tau``: of the pairs (g[i], h[i]), as the paper's code has it;
      ``kendall_tau_rank``: of the ranks that g and h give to every object;
    - ``accuracy``: percent of lists with h = g; ``correct``: percent of places with h[i] = g[i];
    - ``accuracy_ceiling``, ``correct_ceiling``: what the best method can expect when objects of one
      group cannot be told apart, in percent.

    ``update`` raises ValueError for samples that are no permutations.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._scores: dict[str, list[Tensor]] = {}

    def keep(self, batch: Batch) -> dict[str, Tensor]:
        return {name: batch[name] for name in ("order", "groups")}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        order = reference["order"]
        check_permutations(draws.samples, "index array of an ordered list")
        right = draws.samples == order
        accuracy, correct = look_alike_ceilings(reference["groups"])
        self.add(
            kendall_tau=kendall_tau(order, draws.samples),
            kendall_tau_rank=kendall_tau_rank(order, draws.samples),
            accuracy=100 * right.all(-1),
            correct=100 * right.double().mean(-1),
            accuracy_ceiling=100 * accuracy,
            correct_ceiling=100 * correct,
        )

    def add(self, **values: Tensor) -> None:
        """Take in scores (B,) by name."""
        for name, value in values.items():
            self._scores.setdefault(name, []).append(value.double())

    def results(self) -> dict[str, float]:
        return {name: float(torch.cat(parts).mean()) for name, parts in self._scores.items()}


class SequenceEvaluation(ListEvaluation):
    """Lists of integers that are drawn as sequences, each compared with the ordered list.

    ``accuracy``: percent with all places right; ``correct``: percent of places right; ``valid``:
    percent that are permutations at all.
    """

    def keep(self, batch: Batch) -> dict[str, Tensor]:
        return {"ordered": apply(batch["order"], batch["objects"])}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        right = draws.samples == reference["ordered"]
        self.add(
            accuracy=100 * right.all(-1),
            correct=100 * right.double().mean(-1),
            valid=100 * is_permutation(draws.samples),
        )


class JigsawEvaluation(ListEvaluation):
    """Also the distance of the ordered pieces from the image they were cut from.

    ``rmse`` is the square root of the mean squared difference over 64 lists at a time, averaged
    over these batches, ``mae`` the mean absolute difference likewise, both on pixels as fed to the
    network; ``*_unit`` are on pixels in [0, 1], ``*_normalised`` on standardised pixels.
    ``accuracy_pixels``, ``correct_pixels`` forgive the exchange of identical pieces.

    Batches also hold ``unit`` and ``normalised`` (B, C): the factors that take a difference of fed
    pixels to one of pixels in [0, 1] and to one of standardised pixels.
    """

    def reset(self) -> None:
        super().reset()
        self._errors: dict[str, list[Tensor]] = {}

    def keep(self, batch: Batch) -> dict[str, Tensor]:
        names = ("objects", "unit", "normalised")
        return super().keep(batch) | {name: batch[name] for name in names}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        super().update(draws, reference)
        pieces = apply(draws.samples, reference["objects"])
        truth = apply(reference["order"], reference["objects"])
        same = torch.isclose(pieces, truth).flatten(2).all(-1)
        self.add(accuracy_pixels=100 * same.all(-1), correct_pixels=100 * same.double().mean(-1))
        difference = (pieces - truth).double()  # (B, n, C, s, s)
        factors = {f"_{name}": reference[name] for name in ("unit", "normalised")}
        for name, factor in {"": torch.ones_like(reference["unit"]), **factors}.items():
            scaled = (difference * factor[:, None, :, None, None]).flatten(1)
            self._errors.setdefault(f"rmse{name}", []).append(scaled.square().mean(-1))
            self._errors.setdefault(f"mae{name}", []).append(scaled.abs().mean(-1))

    def results(self) -> dict[str, float]:
        values = super().results()
        for name, parts in self._errors.items():
            means = torch.stack([part.mean() for part in torch.cat(parts).split(RMSE_BATCH)])
            values[name] = float((means.sqrt() if name.startswith("rmse") else means).mean())
        return values
