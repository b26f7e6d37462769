"""Images as sequences of the codes of a VQ autoencoder that another run has trained."""

from pathlib import Path

from jumpbench.artifacts import load_artifacts
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import UserError


class VqCodes(TokenData):
    """Codes (B, D) of images, row by row; test batches also hold the ``images``, uint8.

    Args:
        folder: of the finished run of :class:`~jumpbench.methods.common.vq_training.VqTraining`.
        length: D.
        n_states: number of codes N.
        sizes: see :class:`~jumpbench.data.tokens.TokenData`.

    Raises:
        UserError: (when read) the run trained no autoencoder.
    """

    def __init__(self, folder: str | Path, length: int, n_states: int, **sizes: int) -> None:
        super().__init__(**sizes)
        self.folder, self.length, self.n_states = folder, length, n_states

    def load(self, split: str) -> Batch:
        artifacts = load_artifacts(self.folder)
        if split not in artifacts or "images" not in artifacts:
            raise UserError(f"{self.folder} has no codes of images; name a run of VQ training")
        images = {"images": artifacts["images"]} if split == "test" else {}
        return {"states": artifacts[split], **images}
