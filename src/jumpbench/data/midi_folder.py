"""Melodies of one's own: windows of the monophonic tracks of a folder of MIDI files."""

import logging
from pathlib import Path

import torch
from torch import Tensor

from jumpbench.data.melodies import windows
from jumpbench.data.midi import REST, MidiTrack, melody, parse_midi
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import DataCorrupt, DataMissing


class MidiFolder(TokenData):
    """Windows of 128 pitches and a rest, from every ``*.mid`` and ``*.midi`` below a folder.

    The sequences of Campbell et al. (2022) are such lines of 256 sixteenth notes: monophonic
    tracks, without those that are mostly rests or hardly move (:func:`windows`). Percussion
    (channel 10) is no melody. Equal windows of the training files count once. Every tenth file, by
    name, is a test file; the test windows are one of each test track first.

    Args:
        folder: of the files.
        length: steps in a window, D; four a quarter note.
        most_overlap: share of a track's notes that may still sound for more than a step when the
            next one starts; tracks with more are chords.
        sizes: of :class:`TokenData`.

    Raises:
        DataMissing: there is no such folder, or no MIDI file in it.
        DataCorrupt: none of the files can be read. Single ones that cannot are left out, and told.
    """

    n_states = REST + 1

    def __init__(
        self, folder: str | Path, length: int = 256, most_overlap: float = 0.05, **sizes: int
    ) -> None:
        super().__init__(**sizes)
        self.folder, self.length, self.most_overlap = Path(folder), length, most_overlap
        self._lines: list[list[Tensor]] | None = None

    def load(self, split: str) -> Batch:
        if self._lines is None:
            self._lines = [
                [windows(line, self.length) for line in lines]
                for lines in read_folder(self.folder, self.most_overlap)
            ]
        chosen = [
            cut
            for i, lines in enumerate(self._lines)
            for cut in lines
            if (i % 10 == 9) == (split == "test")
        ]
        parts = [*(cut[:1] for cut in chosen), *(cut[1:] for cut in chosen)]
        states = torch.cat(parts) if parts else torch.zeros(0, self.length, dtype=torch.uint8)
        if not len(states):
            raise DataMissing(
                f"{self.folder}: its {split} files hold no window of {self.length} steps; give "
                "more files, or a smaller length"
            )
        return {"states": states if split == "test" else states.unique(dim=0)}


def read_folder(folder: Path, most_overlap: float) -> list[list[Tensor]]:
    """The monophonic tracks of every readable file, by name of the file.

    Raises:
        DataMissing, DataCorrupt: as :class:`MidiFolder`.
    """
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".mid", ".midi"))
    if not files:
        raise DataMissing(f"{folder.absolute()}: no *.mid or *.midi in it")
    tunes, broken = [], []
    for file in files:
        try:
            tracks, division = parse_midi(file.read_bytes())
        except (DataCorrupt, OSError) as error:
            broken.append(f"{file.name}: {error}")
            continue
        tunes.append(
            [
                melody(track.notes, division)
                for track in tracks
                if is_melody(track, division / 4, most_overlap)
            ]
        )
    if not tunes:
        raise DataCorrupt(f"{folder.absolute()}: none of {len(files)} files is MIDI ({broken[0]})")
    if broken:
        logging.getLogger(__name__).warning(
            "%s: %d of %d files left out (%s)", folder, len(broken), len(files), broken[0]
        )
    return tunes


def is_melody(track: MidiTrack, step: float, most_overlap: float) -> bool:
    """Whether a track has notes, no percussion, and hardly two at a time; ``step`` in ticks."""
    if not track.notes or track.percussion:
        return False
    pairs = zip(track.notes, track.notes[1:], strict=False)
    overlaps = sum(first.end - second.start > step for first, second in pairs)
    return overlaps <= most_overlap * len(track.notes)
