"""Images that were asked to be of one class, against real ones (SGDD, Table 9)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.data.tokens import TokenData
from jumpbench.errors import UserError
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.metrics.intrinsic_distance import msid
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator


class ImageClassEvaluation(ExtrasEvaluation):
    """Results: ``accuracy``, the percentage of samples (B, D) that the judge takes for the wanted
    class, and ``accuracy_std``, that of a yes or no; ``msid`` to as many training images of the
    class, in the judge's features; ``msid_floor``, that of further training images of the class,
    which is what a perfect sampler would score; means of the extras. Artifacts: ``truth``, real
    images of the class.

    Args:
        judge: states (B, D) -> logits, with ``features``; not the classifier that guided.
        weights: folder of the run that trained it.
        reference: the data, whose training split has ``labels``.
        wanted: the class.

    Raises:
        UserError: fewer real images of the class than twice the samples; no such class.
    """

    def __init__(
        self,
        judge: nn.Module,
        reference: TokenData,
        weights: str | Path | None = None,
        wanted: int = 0,
        seed: int = 0,
    ) -> None:
        self.judge, self.weights, self.reference = judge, weights, reference
        self.wanted, self.seed = wanted, seed
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.samples: list[Tensor] = []
        self._truth = torch.empty(0)

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.samples.append(draws.samples)
        super().update(draws, reference)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        samples = torch.cat(self.samples)
        judge = load_weights(self.judge, self.weights).cpu().eval()
        right = judge(samples).argmax(-1) == self.wanted
        share = float(right.double().mean())
        self._truth, further = self._real(len(samples)).chunk(2)
        features_of = cast(Callable[[Tensor], Tensor], judge.features)
        features, own, others = (features_of(x) for x in (samples, self._truth, further))
        return super().results() | {
            "accuracy": 100 * share,
            "accuracy_std": 100 * (share * (1 - share)) ** 0.5,
            "msid": msid(features, own),
            "msid_floor": msid(others, own),
        }

    def artifacts(self) -> dict[str, Any]:
        return {"truth": self._truth.to(torch.uint8)}

    def _real(self, count: int) -> Tensor:
        """2 ``count`` different training images of the class, (2 count, D), drawn by the seed."""
        split = self.reference.split("train")
        of_class = split["states"][split["labels"] == self.wanted]
        if len(of_class) < 2 * count:
            raise UserError(
                f"{len(of_class)} training images of class {self.wanted}, but {count} samples are "
                f"compared with as many, and those with as many again; draw at most "
                f"{len(of_class) // 2}"
            )
        generator = make_generator(self.seed, "reference")
        return of_class[torch.randperm(len(of_class), generator=generator)[: 2 * count]]
