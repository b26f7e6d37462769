"""How a checkpoint reaches the disk: whole, or not at all, and damage is seen."""

import os
import signal
import time

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.tables.runs import LAST_CHECKPOINT, PREVIOUS_CHECKPOINT
from jumpbench.tables.runs.checkpoints import resume_point
from jumpbench.tables.runs.wholefiles import WholeFiles


def write(folder, value, run="abc", name=LAST_CHECKPOINT):
    WholeFiles(run).save_checkpoint({"value": torch.full((1000,), value)}, folder / name)


def test_the_one_before_stays_until_the_next_is_whole(tmp_path):
    assert resume_point(tmp_path, "abc") is None
    write(tmp_path, 1.0)
    write(tmp_path, 2.0)
    assert {p.name for p in tmp_path.iterdir()} == {LAST_CHECKPOINT, PREVIOUS_CHECKPOINT}
    assert resume_point(tmp_path, "abc") == tmp_path / LAST_CHECKPOINT
    assert torch.load(tmp_path / PREVIOUS_CHECKPOINT, weights_only=True)["value"][0] == 1.0


def test_writing_fails_half_way(tmp_path, monkeypatch):
    write(tmp_path, 1.0)
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(tmp_path, 2.0)
    assert torch.load(tmp_path / LAST_CHECKPOINT, weights_only=True)["value"][0] == 1.0
    assert {p.name for p in tmp_path.iterdir()} == {LAST_CHECKPOINT}


def test_nothing_is_written_elsewhere(tmp_path, monkeypatch):
    """A temporary folder on another filesystem would make a rename a copy."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    write(tmp_path, 1.0)


@pytest.mark.parametrize("position", [0.2, 0.5, 0.8])
def test_a_flipped_bit_is_seen(tmp_path, position):
    write(tmp_path, 1.0)
    whole = (tmp_path / LAST_CHECKPOINT).read_bytes()
    payload = whole.index(torch.full((8,), 1.0).numpy().tobytes())
    place = payload + int(position * 4000)
    damaged = bytes([*whole[:place], whole[place] ^ 1, *whole[place + 1 :]])
    (tmp_path / LAST_CHECKPOINT).write_bytes(damaged)
    assert (
        torch.load(tmp_path / LAST_CHECKPOINT, weights_only=True) is not None
    )  # torch does not see it
    with pytest.raises(UserError, match=r"last\.ckpt is corrupt; delete it"):
        resume_point(tmp_path, "abc")
    write(tmp_path, 1.0, name=PREVIOUS_CHECKPOINT)
    assert resume_point(tmp_path, "abc") == tmp_path / PREVIOUS_CHECKPOINT


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    write(tmp_path, 1.0, run="other")
    with pytest.raises(UserError, match=r"belongs to another run \(other\)"):
        resume_point(tmp_path, "abc")


def kill_while_writing(folder, kills):
    """A child writes checkpoints without end and is killed; each time one must be whole."""
    seen = 0
    chance = torch.Generator().manual_seed(0)
    for _ in range(kills):
        if (child := os.fork()) == 0:
            value = float(seen)
            while True:
                value += 1
                write(folder, value)
        time.sleep(0.02 + 0.05 * float(torch.rand((), generator=chance)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = resume_point(folder, "abc")
        if found is not None:
            value = torch.load(found, weights_only=True)["value"]
            assert value[0] == value[-1] >= seen
            seen = int(value[0])
    assert seen > kills / 2
    return seen


def test_killed_while_writing_one_is_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    kill_while_writing(tmp_path, 10)
    left = {p.name for p in tmp_path.iterdir()}
    assert left <= {LAST_CHECKPOINT, PREVIOUS_CHECKPOINT, f".{LAST_CHECKPOINT}.writing"}


@pytest.mark.slow
def test_killed_a_hundred_times_with_temporary_files_on_another_filesystem(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    monkeypatch.setattr("tempfile.tempdir", None)
    before = set(os.listdir("/dev/shm"))
    kill_while_writing(tmp_path, 100)
    assert set(os.listdir("/dev/shm")) <= before
