"""One scalar, or one row of scores, per object of a list: networks of the sorting baselines.

Lists are (B, n, ...). A scalar ranks the object against the others of its list.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from jumpbench.networks.object_encoders import check_objects

Scope = Callable[[nn.Module, Tensor], Tensor]


def within_lists(encoder: nn.Module, tokens: Tensor) -> Tensor:
    """Apply a batch-first encoder so that an object sees the objects of its own list."""
    return encoder(tokens)


def across_everything(encoder: nn.Module, tokens: Tensor) -> Tensor:
    """All objects of all lists of the batch as one sequence.

    What the public code of error-free DiffSort does for numbers; its result for one list depends
    on which other lists share the batch.
    """
    return encoder(tokens.reshape(1, -1, tokens.shape[-1])).view_as(tokens)


def across_batch(encoder: nn.Module, tokens: Tensor) -> Tensor:
    """Object j of a list sees object j of the other lists of the batch, none of its own.

    What the public code of error-free DiffSort does for jigsaws.
    """
    return encoder(tokens.transpose(0, 1)).transpose(0, 1)


class ObjectScores(nn.Module):
    """Encoder -> ``layers`` transformer layers (none: each object by itself) -> ReLU -> linear.

    The networks of DiffSort ("CNN", no layers) and error-free DiffSort ("TransformerL", 8 layers
    of width 64 for numbers; 1 layer of width 16 for jigsaws). No position enters, so with
    ``within_lists`` permuting a list permutes its scores.

    Args:
        encoder: (B, n, ...) -> (B, n, dim), object by object.
        dim: width of the tokens.
        layers: number of torch's post-norm encoder layers.
        heads: of their attention.
        feedforward: their hidden width.
        dropout: theirs.
        scope: which objects attend to which, one of the functions above.
    """

    def __init__(
        self,
        encoder: nn.Module,
        dim: int = 64,
        layers: int = 0,
        heads: int = 8,
        feedforward: int = 2048,
        dropout: float = 0.1,
        scope: Scope = within_lists,
    ) -> None:
        super().__init__()
        self.encoder, self.scope, self.context = encoder, scope, None
        if layers:
            layer = nn.TransformerEncoderLayer(dim, heads, feedforward, dropout, batch_first=True)
            self.context = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, objects: Tensor) -> Tensor:
        """Scores (B, n) of lists (B, n, ...)."""
        tokens = self.encoder(objects)
        if self.context is not None:
            tokens = self.scope(self.context, tokens)
        # Half precision would tie objects with close scores.
        with torch.autocast(tokens.device.type, enabled=False):
            return self.head(tokens.float()).squeeze(-1)


class PerObject(nn.Sequential):
    """A network of single images, applied to every object of (B, n, C, H, W).

    Args:
        layers: in order.
        shape: (C, H, W), if the layers read no other.

    Raises:
        ValueError: objects of another shape.
    """

    def __init__(self, *layers: nn.Module, shape: tuple[int, ...] | None = None) -> None:
        super().__init__(*layers)
        self.shape = shape

    def forward(self, objects: Tensor) -> Tensor:
        if self.shape is not None:
            check_objects(objects, self.shape)
        return super().forward(objects.flatten(0, 1)).unflatten(0, objects.shape[:2])


def number_convolutions(dim: int = 64, image: tuple[int, int] = (28, 112)) -> PerObject:
    """Conv 5x5 (32), ReLU, pool 2, conv 5x5 (64), ReLU, pool 2, linear to ``dim``."""
    return PerObject(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (image[0] // 4) * (image[1] // 4), dim),
        shape=(1, *image),
    )


def piece_convolutions(
    image: int, pieces: int, channels: int = 1, filters: int = 64, dim: int = 64
) -> PerObject:
    """Conv 3x3 stride 2 (32), ReLU, conv 3x3 stride 2 (``filters``), ReLU, linear to ``dim``.

    For the floor(image / pieces) pixel squares of an image cut into pieces x pieces.
    """
    side = image // pieces
    reduced = -(-side // 4)  # two strides of 2 with padding 1 round up
    return PerObject(
        nn.Conv2d(channels, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, filters, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(filters * reduced**2, dim),
        shape=(channels, side, side),
    )


def piece_rows(
    image: int, pieces: int, channels: int = 1, hidden: int = 64, kernel: int = 5
) -> PerObject:
    """Gumbel-Sinkhorn's network: a piece -> its scores (n,) for the n = pieces^2 places.

    Conv ``kernel`` (``hidden`` channels, same padding), ReLU, pool 2 (floor), linear. Pooling and
    padding are ours; the source gives neither.
    """
    side = image // pieces
    return PerObject(
        nn.Conv2d(channels, hidden, kernel, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(hidden * (side // 2) ** 2, pieces**2),
        shape=(channels, side, side),
    )
