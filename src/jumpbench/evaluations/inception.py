"""The Inception network that FID and Inception score were defined with."""

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from jumpbench.data.weights import INCEPTION
from jumpbench.errors import DataMissing


class Inception:
    """Images uint8 (B, 1 or 3, H, W) -> features (B, 2048) and class logits (B, 1008).

    It is torch-fidelity's port of TensorFlow's network with its weights of 2015. One channel is
    repeated to three. The network is read when it is first called.

    Args:
        weights: their file; without it :data:`~jumpbench.data.weights.INCEPTION` is looked for.

    Raises:
        DataMissing: (when called) torch-fidelity or the weights are not here.
        DataCorrupt: (when called) the weights are not the published ones.
    """

    def __init__(self, weights: str | None = None) -> None:
        self.weights = weights

    @staticmethod
    def check_files(weights: str | None = None, **others: Any) -> None:
        """Raises :class:`DataMissing`, before anything is trained, if the network is not here."""
        if find_spec("torch_fidelity") is None:
            raise _no_library("No module named 'torch_fidelity'")
        INCEPTION.obtain(weights)

    def __call__(self, images: Tensor) -> tuple[Tensor, Tensor]:
        network = self._network.to(images.device)
        features, logits = network(images.expand(-1, 3, -1, -1).contiguous())
        return features, logits

    @cached_property
    def _network(self) -> torch.nn.Module:
        weights = str(INCEPTION.obtain(self.weights))
        try:
            from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3
        except ImportError as error:
            raise _no_library(str(error)) from None
        names = ["2048", "logits_unbiased"]
        return FeatureExtractorInceptionV3("inception", names, weights).eval()


def _no_library(why: str) -> DataMissing:
    return DataMissing(
        f"FID and Inception score need torch-fidelity ({why}); install the extra 'fid'"
    )
