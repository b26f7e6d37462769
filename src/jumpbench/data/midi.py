"""Reading notes from Standard MIDI Files, and laying a melody on a grid of equal steps."""

import struct
from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.errors import DataCorrupt

REST = 128
PERCUSSION = 9  # channel 10, counted from 1


class Note(NamedTuple):
    """A note: ticks at which it starts and ends, and its pitch 0..127."""

    start: int
    end: int
    pitch: int


class MidiTrack(NamedTuple):
    """The notes of one track, by start; its name ('' without one); whether it has drums."""

    name: str
    notes: list[Note]
    percussion: bool = False


def parse_midi(content: bytes) -> tuple[list[MidiTrack], int]:
    """All tracks of a file of format 0 or 1, and its ticks per quarter note.

    Raises:
        DataCorrupt: no MIDI file; a truncated one; time codes instead of ticks per quarter.
    """
    if content[:4] != b"MThd" or len(content) < 14:
        raise DataCorrupt("not a MIDI file: it does not begin with a header chunk MThd")
    size, form, n_tracks, division = struct.unpack(">IHHH", content[4:14])
    if form not in (0, 1) or division & 0x8000:
        raise DataCorrupt(f"MIDI format {form}, division {division}: only formats 0 and 1 in ticks")
    place = 8 + size
    tracks: list[MidiTrack] = []
    try:
        while len(tracks) < n_tracks:
            kind, size = content[place : place + 4], int.from_bytes(content[place + 4 : place + 8])
            body = content[place + 8 : place + 8 + size]
            if len(content) < place + 8 or len(body) < size:
                raise IndexError
            place += 8 + size
            if kind == b"MTrk":
                tracks.append(_track(body))
    except IndexError:
        raise DataCorrupt("the MIDI file is truncated") from None
    return tracks, division


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A variable-length quantity (seven bits a byte) and the place behind it."""
    value = 0
    while True:
        byte = data[place]
        place, value = place + 1, value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place


def _track(data: bytes) -> MidiTrack:
    place = now = status = 0
    name, notes, percussion = "", [], False
    sounding: dict[tuple[int, int], list[int]] = {}
    while place < len(data):
        wait, place = _number(data, place)
        now += wait
        if data[place] >= 0x80:
            status, place = data[place], place + 1
        if status in (0xFF, 0xF0, 0xF7):
            kind = data[place] if status == 0xFF else -1
            size, place = _number(data, place + (status == 0xFF))
            if kind == 3:
                name = data[place : place + size].decode("latin-1").strip()
            place += size
            continue
        message, channel = status >> 4, status & 15
        key = (channel, data[place])
        velocity = data[place + 1] if message not in (0xC, 0xD) else 0
        place += 1 if message in (0xC, 0xD) else 2
        if message == 9 and velocity:
            percussion |= channel == PERCUSSION
            sounding.setdefault(key, []).append(now)
        elif message in (8, 9) and sounding.get(key):
            notes.append(Note(sounding[key].pop(0), now, key[1]))
    return MidiTrack(name, sorted(notes), percussion)


def melody(notes: list[Note], ticks_per_quarter: int, steps_per_quarter: int = 4) -> Tensor:
    """Pitches on a grid, uint8 (steps,): the note sounding at each step, or :data:`REST`.

    Starts and ends are rounded to the grid; a note lasts one step at least and until the next one
    starts at most, so that a line with small overlaps becomes monophonic.
    """
    step = ticks_per_quarter / steps_per_quarter
    spans = [(round(n.start / step), max(round(n.end / step), round(n.start / step) + 1), n.pitch)
             for n in sorted(notes)]  # fmt: skip
    line = torch.full((max((end for _, end, _ in spans), default=0),), REST, dtype=torch.uint8)
    for index, (start, end, pitch) in enumerate(spans):
        if index + 1 < len(spans):
            end = min(end, max(spans[index + 1][0], start + 1))
        line[start:end] = pitch
    return line
