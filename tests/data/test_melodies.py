"""Melodies: the MIDI reader on bytes written by hand, the grid, the windows, the real tunes."""

import struct
import tarfile

import numpy as np
import pytest
import torch

from jumpbench.data.melodies import (
    GeneratedMelodies,
    NottinghamMelodies,
    PianorollMelodies,
    read_nottingham,
    windows,
)
from jumpbench.data.midi import REST, MidiTrack, Note, melody, parse_midi
from jumpbench.data.midi_folder import MidiFolder, is_melody
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from jumpbench.paths import data_root
from support import needs_data

# Name "A"; on 60, after 200 ticks (two bytes) off by running status with velocity 0; program
# change; on 62, and off 100 ticks later.
EVENTS = bytes([0, 0xFF, 3, 1, 65, 0, 0x90, 60, 9, 0x81, 0x48, 60, 0, 0, 0xC0, 5,
                0, 0x90, 62, 9, 100, 0x80, 62, 0, 0, 0xFF, 0x2F, 0])  # fmt: skip


def midi(events=EVENTS, form=0, tracks=1, division=100):
    header = b"MThd" + struct.pack(">IHHH", 6, form, tracks, division)
    return header + b"MTrk" + struct.pack(">I", len(events)) + events


def test_notes_of_a_track():
    [track], division = parse_midi(midi())
    assert track.name == "A" and division == 100
    assert track.notes == [Note(0, 200, 60), Note(200, 300, 62)]


def test_damaged_files_are_refused():
    for content in (b"RIFF", midi()[:20], midi()[:-5], midi(division=0xE728), midi(form=2)):
        with pytest.raises(DataCorrupt):
            parse_midi(content)


def test_a_melody_on_the_grid():
    """Four steps a quarter of 8 ticks: rounding, overlaps, rests, the shortest note."""
    notes = [Note(0, 4, 60), Note(3, 5, 62), Note(8, 9, 64), Note(12, 16, 65)]
    r = REST
    assert melody(notes, 8).tolist() == [60, 60, 62, r, 64, r, 65, 65]
    assert len(melody([], 8)) == 0


def test_windows_of_a_line():
    line = torch.tensor([REST, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, REST, REST, REST, 1, 2])
    assert windows(line, 4).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert windows(line[:1], 4).shape == (0, 4)


@needs_data("music")
def test_the_tunes():
    tunes = read_nottingham()
    assert len(tunes) == 1034
    data = NottinghamMelodies(64, n_samples=100)
    train, test = data.split("train")["states"], data.split("test")["states"]
    assert train.shape == (7639, 64) and test.shape == (853, 64)
    assert float((train == REST).float().mean()) < 0.01 and len(train.unique()) == 34


def test_missing_and_damaged_sets(tmp_path):
    with pytest.raises(DataMissing, match=r"nottingham\.tar\.xz"):
        read_nottingham(tmp_path)
    (tmp_path / "music").mkdir()
    (tmp_path / "music/nottingham.tar.xz").write_bytes(b"nothing")
    with pytest.raises(DataCorrupt, match="fetch it again"):
        read_nottingham(tmp_path)
    with pytest.raises(DataMissing, match=r"train\.npy"):
        PianorollMelodies(tmp_path).split("train")
    folder = tmp_path / "lakh_pianoroll"
    folder.mkdir()
    np.save(folder / "train.npy", np.full((3, 200), 5))
    with pytest.raises(UserError, match="not \\(n, 256\\)"):
        PianorollMelodies(tmp_path).split("train")
    np.save(folder / "train.npy", np.full((3, 256), 129))
    with pytest.raises(UserError, match=r"outside 0\.\.128"):
        PianorollMelodies(tmp_path).split("train")
    np.save(folder / "train.npy", np.full((3, 256), 128))
    assert PianorollMelodies(tmp_path).split("train")["states"].shape == (3, 256)


def note_track(notes, channel=0):
    """Notes (start, end, pitch) in ticks below 128."""
    events = sorted(
        [(s, 0x90 | channel, p, 9) for s, _, p in notes]
        + [(e, 0x80 | channel, p, 0) for _, e, p in notes]
    )
    body, now = b"", 0
    for when, *event in events:
        body += bytes([when - now, *event])
        now = when
    return midi(body, division=8)[14:]


def song(*tracks):
    header = b"MThd" + struct.pack(">IHHH", 6, 1, len(tracks), 8)
    return header + b"".join(tracks)


def test_a_folder_of_midi_files(tmp_path, caplog):
    """Its monophonic tracks without drums; what cannot be read is told; every tenth file is held
    out."""
    tune = note_track([(4 * i, 4 * i + 4, 60 + i % 5) for i in range(24)])
    second = note_track([(4 * i, 4 * i + 4, 80 + i % 5) for i in range(24)])
    chords = note_track([(4 * i, 4 * i + 8, 60 + i) for i in range(16)])
    drums = note_track([(4 * i, 4 * i + 4, 40 + i % 5) for i in range(24)], channel=9)
    (tmp_path / "deep").mkdir()
    for i in range(10):
        (tmp_path / "deep" / f"{i}.MID").write_bytes(song(chords, tune, second, drums))
    (tmp_path / "broken.mid").write_bytes(b"RIFF")
    data = MidiFolder(tmp_path, length=16)
    train, test = data.split("train")["states"], data.split("test")["states"]
    assert test.shape == (6, 16)  # two tracks of 48 steps, two a note
    for row, lowest in zip(test[:2].tolist(), (60, 80), strict=True):  # of each its first window
        assert row == [lowest + i // 2 % 5 for i in range(16)]
    assert len(train) == 6  # nine equal files count once
    assert {tuple(row) for row in train.tolist()} == {tuple(row) for row in test.tolist()}
    assert "1 of 11 files left out (broken.mid" in caplog.text


def test_notes_that_sound_on_for_a_step_are_no_chord():
    """Only overlaps of more than a step (here 2 ticks) count, as a share of the notes."""
    for extra, kept in ((2, True), (3, False)):
        notes = [Note(8 * i, 8 * i + 8 + extra, 60 + i) for i in range(20)]
        assert is_melody(MidiTrack("", notes), 2, 0.05) is kept
    one_chord = [Note(8 * i, 8 * i + (20 if i == 3 else 8), 60 + i) for i in range(20)]
    assert is_melody(MidiTrack("", one_chord), 2, 0.05)  # one of twenty
    assert not is_melody(MidiTrack("", one_chord[:19]), 2, 0.05)


def test_a_folder_without_melodies_says_so(tmp_path):
    with pytest.raises(DataMissing, match=r"no \*\.mid"):
        MidiFolder(tmp_path).split("train")
    (tmp_path / "a.mid").write_bytes(b"RIFF")
    with pytest.raises(DataCorrupt, match=r"none of 1 files is MIDI \(a\.mid: not a MIDI"):
        MidiFolder(tmp_path).split("train")
    (tmp_path / "b.mid").write_bytes(midi())
    with pytest.raises(DataMissing, match="no window of 256 steps"):
        MidiFolder(tmp_path).split("train")


@needs_data("music")
def test_the_tunes_as_a_folder_are_the_tunes_without_chords(tmp_path):
    with tarfile.open(data_root() / "music/nottingham.tar.xz") as archive:
        for member in archive.getmembers():
            if member.isfile():
                file = tmp_path / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.extractfile(member).read())
    folder, tunes = MidiFolder(tmp_path, 64), NottinghamMelodies(64)
    ours, theirs = (
        {tuple(row) for row in data.split("test")["states"].tolist()} for data in (folder, tunes)
    )
    assert ours <= theirs and len(ours) > 0.95 * len(theirs)  # without tunes that have chords


def test_generated_melodies_repeat_and_differ_between_splits():
    data = GeneratedMelodies(32, 5)
    assert torch.equal(
        data.load("train")["states"], GeneratedMelodies(32, 5).load("train")["states"]
    )
    assert not torch.equal(data.load("train")["states"], data.load("test")["states"])
    assert data.split("test")["states"].shape == (5, 32)
