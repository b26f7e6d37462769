"""Draws of the test stage, one shard a batch: on disk where there is a folder, else in memory."""

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.samplers.draws import Draws


@dataclass(frozen=True)
class Shard:
    """The draws of one test batch, by way of drawing, and what judging needs of the batch."""

    draws: dict[str, Draws]
    reference: dict[str, Tensor]


class Shards:
    """Shards by number. A shard on disk is whole or absent; several processes may write.

    Args:
        folder: where ``NUMBER.pt`` lie; None keeps them in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._memory: dict[int, bytes] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._memory if self.folder is None else self._path(number).is_file()

    def write(self, number: int, shard: Shard) -> None:
        buffer = io.BytesIO()
        plain = {name: draws.plain() for name, draws in shard.draws.items()}
        torch.save({"draws": plain, "kept": shard.reference}, buffer)
        if self.folder is None:
            self._memory[number] = buffer.getvalue()
        else:
            write_atomic(self._path(number), buffer.getvalue())

    def read(self, count: int) -> Iterator[Shard]:
        """Shards 0 .. count - 1 in this order.

        Raises:
            UserError: one is missing or damaged.
        """
        for number in range(count):
            yield self._read(number)

    def clear(self) -> None:
        """Forget all shards: the weights that drew them have changed."""
        self._memory.clear()
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.glob("*.pt"):
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Also take away the folder, once everything that matters is written elsewhere."""
        self.clear()
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:06d}.pt"

    def _read(self, number: int) -> Shard:
        source: Any = io.BytesIO(self._memory[number]) if self.folder is None else None
        source = source or self._path(number)
        try:
            plain = torch.load(source, map_location="cpu", weights_only=True)
            draws = {name: Draws.restored(value) for name, value in plain["draws"].items()}
            return Shard(draws, plain["kept"])
        except Exception as error:
            raise UserError(
                f"{source} is missing or damaged ({type(error).__name__}); delete it and call "
                "again: only that batch is drawn anew"
            ) from None
