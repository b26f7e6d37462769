"""Monophonic melodies as sequences of 128 pitches and a rest."""

import hashlib
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import find, origin
from jumpbench.data.midi import REST, melody, parse_midi
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root

NOTTINGHAM = "f607fe0a2f83e3f0a48d2f444001ce67"
"""Sum of md5(file) over the tunes, as a number modulo 2^128: archives may be packed again."""


def windows(line: Tensor, length: int) -> Tensor:
    """Windows (n, length) of a line, side by side from its first note on.

    Kept are those with at least three pitches and at most half rests; the rest of a line that
    does not fill a window is left out.
    """
    sounding = (line != REST).nonzero().flatten()
    if not len(sounding):
        return line.new_zeros(0, length)
    line = line[int(sounding[0]) :]
    cut = line[: len(line) // length * length].view(-1, length)
    rests = (cut == REST).sum(1)
    melodic = [row for row, silent in zip(cut, rests, strict=True)
            if silent <= length // 2 and len(row[row != REST].unique()) >= 3]  # fmt: skip
    return torch.stack(melodic) if melodic else line.new_zeros(0, length)


class NottinghamMelodies(TokenData):
    """Windows of folk tunes (Nottingham database), one symbol per sixteenth note.

    Every tenth tune, by name, is a test tune. The test windows are one of each test tune first; of
    the first 100 of 256 steps, three are also training windows.

    Args:
        length: steps in a window, D.
        root: data root, holding ``music/nottingham.tar.xz``.
    """

    n_states = REST + 1

    def __init__(self, length: int = 256, root: str | Path | None = None, **sizes: int) -> None:
        super().__init__(**sizes)
        self.length, self.root = length, root

    def load(self, split: str) -> Batch:
        tunes = read_nottingham(self.root)
        chosen = [t for i, t in enumerate(tunes) if (i % 10 == 9) == (split == "test")]
        cut = [windows(line, self.length) for line in chosen]
        first = [w[:1] for w in cut]
        rest = [w[1:] for w in cut]
        return {"states": torch.cat([*first, *rest])}


class PianorollMelodies(TokenData):
    """The arrays of Campbell et al. (2022): ``lakh_pianoroll/train.npy`` and ``test.npy``,
    (n, 256) with values 0..128. Raises DataMissing where they are not.
    """

    length, n_states = 256, REST + 1

    def __init__(self, root: str | Path | None = None, **sizes: int) -> None:
        super().__init__(**sizes)
        self.root = root

    def load(self, split: str) -> Batch:
        path = find("lakh_pianoroll", [f"{split}.npy"], self.root)
        try:
            states = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise DataCorrupt(f"{path} is no plain array ({error}); fetch it again") from None
        return {"states": torch.from_numpy(states.astype(np.int64))}


class GeneratedMelodies(TokenData):
    """Random walks over a scale, for smoke runs and tests: seeded, no files."""

    n_states = REST + 1

    def __init__(self, length: int = 256, generated: int = 64, **sizes: int) -> None:
        super().__init__(**sizes)
        self.length, self.generated = length, generated

    def load(self, split: str) -> Batch:
        generator = torch.Generator().manual_seed(int(split == "test"))
        shape = (self.generated, self.length // 4 + 1)
        walk = torch.randint(-2, 3, shape, generator=generator).cumsum(1) % 14
        scale = torch.tensor([60, 62, 64, 65, 67, 69, 71])
        notes = scale[walk % 7] + 12 * (walk // 7)
        states = notes.repeat_interleave(4, 1)[:, : self.length]
        return {"states": states.to(torch.uint8)}


def read_nottingham(root: str | Path | None = None) -> list[Tensor]:
    """The tunes on a sixteenth grid, by name.

    Raises:
        DataMissing: no archive, and it says where to put it.
        DataCorrupt: not the published tunes.
    """
    path = data_root(root) / "music" / "nottingham.tar.xz"
    if not path.is_file():
        raise DataMissing(
            f"music: put nottingham.tar.xz into {path.parent.absolute()}{origin('music')}"
        )
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".mid") and (stream := archive.extractfile(member)):
                    files[Path(member.name).name] = stream.read()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise DataCorrupt(
            f"{path} cannot be read ({error}): delete it and fetch it again"
        ) from None
    digests = [hashlib.md5(f, usedforsecurity=False).hexdigest() for f in files.values()]
    total = f"{sum(int(d, 16) for d in digests) % 2**128:032x}"
    if total != NOTTINGHAM:
        raise DataCorrupt(
            f"{path} does not hold the published tunes ({len(files)} files, set checksum {total}); "
            "delete it and fetch it again"
        )
    return list(_lines(tuple(files[name] for name in sorted(files))))


@cache  # a second a reading; both splits, of every length, are windows of the same lines
def _lines(contents: tuple[bytes, ...]) -> tuple[Tensor, ...]:
    return tuple(map(_line, contents))


def _line(content: bytes) -> Tensor:
    tracks, division = parse_midi(content)
    return melody([note for track in tracks for note in track.notes], division)


def verify(root: str | Path | None = None) -> str:
    """Read and verify the tunes."""
    return f"{len(read_nottingham(root))} tunes"


def verify_pianoroll(root: str | Path | None = None) -> str:
    """Read both arrays and check their shape and values."""
    data = PianorollMelodies(root)
    return ", ".join(f"{len(data.split(name)['states'])} {name}" for name in ("train", "test"))
